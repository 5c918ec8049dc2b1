// Tasks and questions, over real connections.
#include "support/console/console_life.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::vector<std::string> types_of(const ConsoleClient& stream) {
  std::vector<std::string> types;
  for (const json& event : ConsoleLife::events_of(stream)) types.push_back(event["type"]);
  return types;
}

// Gives "a" a task whose model says nothing.
std::string silent_task(ConsoleLife& life) {
  testing::ScriptedReply silent;
  silent.silent = true;
  life.llm.enqueue(silent);
  const HttpAnswer answer = life.post("/tasks", R"({"agentId":"a","prompt":"think"})");
  REQUIRE(answer.status == 201);
  const std::string id = answer.json()["taskId"];
  life.until([&] { return life.llm.open_calls() > 0; });
  return id;
}

// "a" asks a person, by ask_human or for an approval of `tool`.
struct AskingLife : ConsoleLife {
  explicit AskingLife(const std::string& tool) {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(make_ask_human_tool());
    tools->add(make_tool({.name = "pay", .needs_approval = true},
                         [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("paid"); }));
    AgentSpec spec;
    spec.id = "a";
    spec.tools = tools;
    agent = tree->create(std::move(spec)).value();
    testing::ScriptedReply reply;
    reply.tool_calls = {
        {.id = "c1", .name = tool, .arguments = tool == "pay" ? "{}" : R"({"question":"Which?"})"}};
    llm.enqueue(reply);
    task = post("/tasks", R"({"agentId":"a","prompt":"ask"})").json()["taskId"];
    until([&] { return !tree->questions().empty(); });
  }

  Agent agent;
  std::string task;
};

}  // namespace

TEST_CASE("a task is made, runs and has a result", "[console][X35][API14][Y12]") {
  ConsoleLife life;
  life.create("a");
  life.llm.enqueue({.deltas = {"It is ", "done."}});
  const HttpAnswer made = life.post("/tasks", R"({"agentId":"a","prompt":"do it"})");
  CHECK(made.status == 201);
  CHECK(made.json()["agentId"] == "a");
  const std::string id = made.json()["taskId"];
  const json result = life.get("/tasks/" + id + "/result?wait=ended").json();
  CHECK(result["success"] == true);
  CHECK(result["response"] == "It is done.");
  const json task = life.get("/tasks/" + id).json();
  CHECK(task["status"] == "completed");
  CHECK(task["result"] == result);
  CHECK(life.get("/tasks").json()["tasks"][0]["taskId"] == id);
  ConsoleClient events = life.follow("/tasks/" + id + "/events");
  life.until([&] { return events.ended(); }, {&events});
  CHECK(types_of(events) == std::vector<std::string>{"status", "status", "text", "text", "complete"});
}

TEST_CASE("the events of a task are a stream that ends with the task", "[console][API10][Y12]") {
  ConsoleLife life;
  life.create("a");
  const std::string id = silent_task(life);
  ConsoleClient stream = life.follow("/tasks/" + id + "/events");
  CHECK(stream.received().find("HTTP/1.1 200 ") == 0);
  CHECK(stream.received().find("\r\nContent-Type: text/event-stream\r\n") != std::string::npos);
  life.until([&] { return types_of(stream).size() == 2; }, {&stream});
  CHECK_FALSE(stream.ended());
  life.post("/tasks/" + id + "/terminate");
  life.until([&] { return stream.ended(); }, {&stream});
  const std::vector<json> events = ConsoleLife::events_of(stream);
  REQUIRE(types_of(stream) == std::vector<std::string>{"status", "status", "terminated"});
  CHECK(events[0]["status"] == "pending");
  CHECK(events[1]["status"] == "running");
  for (const json& event : events) {
    CHECK(event["taskId"] == id);
    CHECK(event["at"].is_number_integer());
  }
  CHECK(life.get("/tasks/m999/events").json()["error"] == "task_not_found");
}

TEST_CASE("the stream of a task has its question and the outcome", "[console][Y12]") {
  AskingLife life("ask_human");
  CHECK(life.post("/tasks/" + life.task + "/interact", R"({"response":"this"})").status == 200);
  ConsoleClient stream = life.follow("/tasks/" + life.task + "/events");
  life.until([&] { return stream.ended(); }, {&stream});
  std::vector<json> asked;
  for (const json& event : ConsoleLife::events_of(stream))
    if (event["type"] == "interaction" || event["type"] == "interaction_response") asked.push_back(event);
  REQUIRE(asked.size() == 2);
  CHECK(asked[0]["question"]["text"] == "Which?");
  CHECK(asked[1]["questionId"] == asked[0]["question"]["id"]);
  CHECK(asked[1]["outcome"] == "answered");
}

TEST_CASE("the streams of tasks count as viewers", "[console]") {
  ConsoleLife life({.max_viewers = 1});
  life.create("a");
  const std::string target = "/tasks/" + silent_task(life) + "/events";
  ConsoleClient first = life.follow(target);
  life.until([&] { return !ConsoleLife::events_of(first).empty(); }, {&first});
  const HttpAnswer second = life.get(target);
  CHECK(second.status == 503);
  CHECK(second.json()["error"] == "too_many_connections");
}

TEST_CASE("a task without an agent gets a new one", "[console][X35]") {
  ConsoleLife life({.agent = {.system_prompt = "Be brief."}});
  const json made = life.post("/tasks", R"({"prompt":"hello"})").json();
  CHECK(life.tree->find(made["agentId"].get<std::string>()));
  CHECK(life.post("/tasks", R"({"prompt":"hello","agentId":"nobody"})").status == 404);
  CHECK(life.post("/tasks", R"({"agentId":"a"})").status == 400);
}

TEST_CASE("a task is ended in mid-turn, its agent goes on", "[console][X8][X34][API9][API11][I3][I18]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  const std::string id = silent_task(life);
  ConsoleClient events = life.follow("/tasks/" + id + "/events");
  CHECK(life.get("/tasks/" + id).json()["status"] == "running");
  CHECK(life.get("/tasks/" + id + "/result").status == 409);
  const json done{{"status", "success"}, {"message", "Task terminated successfully"}};
  const HttpAnswer ended = life.post("/tasks/" + id + "/terminate");
  CHECK(ended.status == 200);
  CHECK(ended.json() == done);
  CHECK(life.llm.open_calls() == 0);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(life.post("/tasks/" + id + "/terminate").json() == done);
  life.until([&] { return events.ended(); }, {&events});
  const json last = ConsoleLife::events_of(events).back();
  CHECK(last["type"] == "terminated");
  CHECK(last["message"] == "Task terminated by user");
  CHECK(life.get("/tasks/" + id).json()["status"] == "terminated");
  life.llm.enqueue({.deltas = {"Yes."}});
  const std::string next = life.post("/tasks", R"({"agentId":"a","prompt":"still there?"})").json()["taskId"];
  CHECK(life.get("/tasks/" + next + "/result?wait=ended").json()["response"] == "Yes.");
  ConsoleClient again = life.follow("/tasks/" + id + "/events");
  life.until([&] { return again.ended(); }, {&again});
  const auto types = types_of(again);
  CHECK(std::count(types.begin(), types.end(), "terminated") == 1);
}

TEST_CASE("a request that waits for a task that is ended in mid-turn gets the result", "[console]") {
  ConsoleLife life;
  life.create("a");
  const std::string id = silent_task(life);
  ConsoleClient waiting(life.console->port());
  waiting.send(life.text_of("GET", "/tasks/" + id + "/result?wait=ended"));
  life.poll();
  CHECK(life.post("/tasks/" + id + "/terminate").status == 200);
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = waiting.take_answer()).has_value(); }, {&waiting});
  CHECK(answer->status == 200);
  CHECK(answer->json()["success"] == false);
  CHECK(answer->json() == life.get("/tasks/" + id + "/result").json());
}

TEST_CASE("a task that waits, that has ended or that is unknown is ended with the right status",
          "[console][X8]") {
  ConsoleLife life;
  life.create("a");
  const std::string running = silent_task(life);
  const std::string waiting = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  CHECK(life.get("/tasks/" + waiting).json()["status"] == "pending");
  for (int twice = 0; twice < 2; ++twice) {
    CHECK(life.post("/tasks/" + waiting + "/terminate").status == 200);
    CHECK(life.get("/tasks/" + waiting).json()["status"] == "terminated");
  }
  CHECK(life.get("/tasks/" + running).json()["status"] == "running");
  CHECK(life.post("/tasks/" + running + "/terminate").status == 200);
  const std::string done = life.post("/tasks", R"({"agentId":"a","prompt":"hi"})").json()["taskId"];
  CHECK(life.get("/tasks/" + done + "/result?wait=ended").status == 200);
  const HttpAnswer late = life.post("/tasks/" + done + "/terminate");
  CHECK(late.status == 409);
  CHECK(late.json()["status"] == "completed");
  CHECK(life.post("/tasks/m1/terminate").status == 404);
  CHECK(life.post("/tasks/m1/terminate").json()["status"] == "error");
  CHECK(life.get("/tasks/m1").json()["error"] == "task_not_found");
}

TEST_CASE("a failed task says why", "[console][Y12]") {
  ConsoleLife life;
  life.create("a");
  life.llm.enqueue({.error = {.code = Errc::network_error, .message = "no route"}});
  const std::string id = life.post("/tasks", R"({"agentId":"a","prompt":"x"})").json()["taskId"];
  const json result = life.get("/tasks/" + id + "/result?wait=ended").json();
  CHECK(result["success"] == false);
  CHECK(life.get("/tasks/" + id).json()["status"] == "failed: no route");
  ConsoleClient stream = life.follow("/tasks/" + id + "/events");
  life.until([&] { return stream.ended(); }, {&stream});
  const json last = ConsoleLife::events_of(stream).back();
  CHECK(last["type"] == "error");
  CHECK(last["message"] == "no route");
}

TEST_CASE("the first end of a task is its only one", "[console][X7]") {
  ConsoleLife life;
  life.create("a");
  const std::string terminated = silent_task(life);
  CHECK(life.post("/tasks/" + terminated + "/terminate").status == 200);  // before the end of its turn
  life.llm.enqueue({.deltas = {"Yes."}});
  const std::string completed = life.post("/tasks", R"({"agentId":"a","prompt":"go on"})").json()["taskId"];
  CHECK(life.get("/tasks/" + completed + "/result?wait=ended").status == 200);
  CHECK(life.post("/tasks/" + completed + "/terminate").status == 409);
  const std::string stopped = silent_task(life);
  life.post("/api/agent/a/stop?wait=settled");
  CHECK(life.post("/tasks/" + stopped + "/terminate").status == 200);
  const auto ends_of = [&](const std::string& id) {
    ConsoleClient stream = life.follow("/tasks/" + id + "/events");
    life.until([&] { return stream.ended(); }, {&stream});
    std::string ends = life.get("/tasks/" + id).json()["status"];
    for (const std::string& type : types_of(stream))
      if (type == "complete" || type == "error" || type == "terminated") ends += " " + type;
    return ends;
  };
  CHECK(ends_of(terminated) == "terminated terminated");
  CHECK(ends_of(completed) == "completed complete");
  CHECK(ends_of(stopped) == "terminated terminated");
}

TEST_CASE("a stop of the agent ends its tasks as terminated", "[console]") {
  ConsoleLife life;
  life.create("a");
  const std::string running = silent_task(life);
  const std::string waiting = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  life.post("/api/agent/a/stop?wait=settled");
  CHECK(life.get("/tasks/" + running).json()["status"] == "terminated");
  CHECK(life.get("/tasks/" + waiting).json()["status"] == "terminated");
  CHECK(life.get("/tasks/" + waiting + "/result").json()["error"] == "task_terminated");
}

TEST_CASE("the last event of a task says why it was ended", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  const auto last_of = [&](const std::string& id) {
    ConsoleClient stream = life.follow("/tasks/" + id + "/events");
    life.until([&] { return stream.ended(); }, {&stream});
    return ConsoleLife::events_of(stream).back();
  };
  const std::string running = silent_task(life);
  const std::string waiting = life.post("/tasks", R"({"agentId":"a","prompt":"later"})").json()["taskId"];
  REQUIRE(agent.drop_queue().value() == 1);
  CHECK(last_of(waiting)["type"] == "terminated");
  CHECK(last_of(waiting)["message"] == "The message was dropped: queue_cleared");
  REQUIRE(agent.abort().took_effect());
  CHECK(last_of(running)["type"] == "terminated");
  CHECK(last_of(running)["message"] == "the call was aborted");
}

TEST_CASE("a task that is refused leaves no agent behind", "[console]") {
  ConsoleLife life;
  const std::size_t before = life.tree->size();
  CHECK(life.post("/tasks", R"({"prompt":"   "})").json()["error"] == "empty_message");
  life.poll();
  CHECK(life.tree->size() == before);
  life.create("a");
  CHECK(life.post("/tasks", R"({"agentId":"a","prompt":"   "})").status == 400);
  life.poll();
  CHECK(life.tree->find("a"));
}

TEST_CASE("a task that is sent again with its key is made once", "[console]") {
  ConsoleLife life;
  life.create("a");
  const std::string body = R"({"agentId":"a","prompt":"pay"})", key = "Idempotency-Key: k1\r\n";
  const json first = life.request("POST", "/tasks", body, key).json();
  CHECK(life.request("POST", "/tasks", body, key).json() == first);
  CHECK(life.request("POST", "/tasks", body, "Idempotency-Key: k2\r\n").json() != first);
  const HttpAnswer other = life.request("POST", "/tasks", R"({"agentId":"a","prompt":"other"})", key);
  CHECK(other.status == 409);
  CHECK(other.json()["error"] == "idempotency_key_in_use");
}

TEST_CASE("a key is known longer than its task is kept", "[console]") {
  ConsoleLife life({.max_writes_per_second = 100'000, .kept_tasks = 20});
  life.create("a");
  const std::string body = R"({"agentId":"a","prompt":"pay"})", key = "Idempotency-Key: k1\r\n";
  const json first = life.request("POST", "/tasks", body, key).json();
  const std::string id = first["taskId"];
  for (int i = 0; i < 20; ++i) {
    life.llm.enqueue({.deltas = {"Hi."}});
    life.post("/tasks", body);
    life.runtime.run_until_idle();
  }
  CHECK(life.get("/tasks/" + id).status == 404);
  CHECK(life.request("POST", "/tasks", body, key).json() == first);
}

TEST_CASE("a task that runs takes no place of those that have ended", "[console]") {
  ConsoleLife life({.kept_tasks = 1});
  life.create("a");
  life.create("b");
  life.llm.enqueue({.deltas = {"Hi."}});
  const std::string ended = life.post("/tasks", R"({"agentId":"a","prompt":"say hello"})").json()["taskId"];
  life.runtime.run_until_idle();
  life.llm.enqueue({.silent = true});
  life.post("/tasks", R"({"agentId":"b","prompt":"think"})");
  CHECK(life.get("/tasks/" + ended).json()["status"] == "completed");
}

TEST_CASE("a key that is too long is refused", "[console]") {
  ConsoleLife life;
  life.create("a");
  const auto status = [&](std::size_t bytes) {
    return life
        .request("POST", "/tasks", R"({"agentId":"a","prompt":"pay"})",
                 "Idempotency-Key: " + std::string(bytes, 'k') + "\r\n")
        .status;
  };
  CHECK(status(256) == 201);
  CHECK(status(257) == 400);
}

TEST_CASE("a call that waits for its approval has no result in the conversation", "[console]") {
  AskingLife life("pay");
  const auto result_of_call = [&] { return life.get("/api/agent/a/conversation").json()["messages"].back(); };
  json message = result_of_call();
  CHECK(message["toolCallId"] == "c1");
  CHECK(message["open"] == true);
  life.llm.enqueue({.deltas = {"Thank you."}, .first_delay = std::chrono::hours(1)});
  life.post("/api/questions/" + life.tree->questions().at(0).id + "/approve");
  life.until([&] { return result_of_call()["content"] == "paid"; });
  CHECK(result_of_call()["open"] == false);
}

TEST_CASE("a person answers a question", "[console][API13][I14]") {
  AskingLife life("ask_human");
  const json question = life.get("/api/questions").json()["questions"][0];
  CHECK(question["kind"] == "question");
  CHECK(question["text"] == "Which?");
  const std::string path = "/api/questions/" + question["id"].get<std::string>();
  CHECK(life.post(path + "/approve").json()["error"] == "not_an_approval");
  CHECK(life.post(path + "/answer").status == 400);
  CHECK(life.post(path + "/answer", R"({"text":"this"})").status == 200);
  CHECK(life.post(path + "/answer", R"({"text":"that"})").json()["error"] == "question_closed");
  CHECK(life.post("/api/questions/q_9/answer", R"({"text":"that"})").status == 404);
  CHECK(life.get("/tasks/" + life.task + "/result?wait=ended").json()["success"] == true);
}

TEST_CASE("an approval is approved or declined, never answered by a text", "[console]") {
  AskingLife life("pay");
  const std::string path =
      "/api/questions/" + life.get("/api/questions").json()["questions"][0]["id"].get<std::string>();
  CHECK(life.post(path + "/answer", R"({"text":"no"})").json()["error"] == "is_an_approval");
  CHECK(life.post(path + "/approve", R"({"scope":"always"})").status == 400);
  SECTION("approved") {
    CHECK(life.post(path + "/approve", R"({"scope":"agent"})").status == 200);
    life.runtime.run_until_idle();
    CHECK(life.tree->grants().size() == 1);
  }
  SECTION("declined") {
    CHECK(life.post(path + "/decline", R"({"reason":"too much"})").status == 200);
    life.runtime.run_until_idle();
  }
}

TEST_CASE("the open question of a task is answered by its task", "[console][API13]") {
  SECTION("a question") {
    AskingLife life("ask_human");
    CHECK(life.post("/tasks/" + life.task + "/interact", R"({"response":"this"})").json()["status"] ==
          "success");
    CHECK(life.post("/tasks/" + life.task + "/interact", R"({"response":"this"})").status == 409);
  }
  SECTION("an approval") {
    AskingLife life("pay");
    const auto refused = life.post("/tasks/" + life.task + "/interact", R"({"response":"yes"})");
    CHECK(refused.status == 409);
    CHECK(refused.json()["error"] == "is_an_approval");
    CHECK(life.post("/tasks/" + life.task + "/interact", R"({"response":"approve"})").status == 200);
    CHECK(life.get("/tasks/" + life.task + "/result?wait=ended").json()["success"] == true);
  }
}

TEST_CASE("a tool call that runs is cancelled, its turn goes on", "[console]") {
  AskingLife life("ask_human");
  const json calls = life.get("/api/agent/a").json()["calls"];
  REQUIRE(calls.size() == 1);
  CHECK(calls[0]["tool"] == "ask_human");
  const std::string path = "/api/agent/a/calls/" + calls[0]["callId"].get<std::string>() + "/cancel";
  CHECK(life.post(path, R"({"reason":"not needed"})").json()["cancelled"] == true);
  CHECK(life.post(path).json()["cancelled"] == false);
  CHECK(life.post("/api/background/task_1/cancel").json()["cancelled"] == false);
  CHECK(life.get("/tasks/" + life.task + "/result?wait=ended").json()["success"] == true);
}
