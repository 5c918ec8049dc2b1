// The routes of agents and verbs, over real connections.
#include "support/console/console_life.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

std::vector<std::string> ids_of(const json& agents) {
  std::vector<std::string> ids;
  for (const json& agent : agents) ids.push_back(agent["id"]);
  return ids;
}

}  // namespace

TEST_CASE("abort answers as its sources fix it",
          "[console][API1][API2][API3][API4][API8][A13][A22][X23][X24]") {
  ConsoleLife life;
  const Agent agent = life.create("a/b c");
  life.let_wait(agent);
  HttpAnswer answer = life.post("/api/agent/a%2Fb%20c/abort");
  CHECK(answer.status == 200);
  CHECK(answer.json() == json{{"ok", true}, {"agentId", "a/b c"}, {"aborted", true}});
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(life.post("/api/agent/a%2Fb%20c/abort").json() ==
        json{{"ok", true}, {"agentId", "a/b c"}, {"aborted", false}, {"reason", "not_waiting_llm"}});
  answer = life.post("/api/agent/nobody/abort");
  CHECK(answer.status == 404);
  CHECK(answer.json() == json{{"error", "agent_not_found"}});
  answer = life.post("/api/agent//abort");
  CHECK(answer.status == 400);
  CHECK(answer.json() == json{{"error", "missing_agent_id"}});
}

TEST_CASE("without a tree the API says so", "[console][API5]") {
  ConsoleLife life;
  life.create("a");
  life.shown.reset();
  const HttpAnswer answer = life.post("/api/agent/a/abort");
  CHECK(answer.status == 500);
  CHECK(answer.json() == json{{"error", "society_not_initialized"}});
  CHECK(life.get("/api/agents").status == 500);
  CHECK(life.get("/api/session").json()["tree"] == false);
}

TEST_CASE("abort writes its log record", "[console][API7]") {
  ConsoleLife life;
  life.let_wait(life.create("a"));
  const std::string record =
      "\xe5\xa4\x84\xe7\x90\x86 LLM \xe4\xb8\xad\xe6\x96\xad\xe8\xaf\xb7\xe6\xb1\x82 agentId=a aborted=";
  for (const std::string aborted : {"true", "false"}) {
    life.post("/api/agent/a/abort");
    CHECK(std::count(life.log.begin(), life.log.end(), record + aborted) == 1);
  }
}

TEST_CASE("a stop or a delete that is not possible is refused with its reason", "[console][API6]") {
  ConsoleLife life;
  for (const AgentRole role : {AgentRole::user, AgentRole::system}) {
    AgentSpec spec;
    spec.id = to_string(role);
    spec.role = role;
    REQUIRE(life.tree->create(std::move(spec)));
  }
  const auto refusal = [&](std::string_view method, std::string_view target, std::string_view body = {}) {
    const HttpAnswer answer = life.request(method, target, body);
    return std::to_string(answer.status) + " " + answer.body;
  };
  for (const std::string wait : {"", "?wait=settled"}) {
    CHECK(refusal("POST", "/api/agent/user/stop" + wait) == R"(409 {"error":"cannot_stop_user"})");
    for (const std::string id : {"user", "system"})
      CHECK(refusal("DELETE", "/api/agent/" + id + wait) == R"(409 {"error":"cannot_delete_system_agent"})");
  }
  CHECK(refusal("POST", "/api/agent/system/stop?wait=soon") == R"(400 {"error":"invalid_request"})");
  CHECK(refusal("POST", "/api/agent/system/stop", "{") == R"(400 {"error":"invalid_json"})");
  CHECK(refusal("DELETE", "/api/agent/system", R"({"Reason":"x"})") == R"(400 {"error":"unknown_field"})");
  for (const std::string id : {"user", "system"})
    CHECK(life.tree->find(id).value().state().value() == AgentState::idle);
}

TEST_CASE("errors have the form of the source of their route, and new routes have one form",
          "[console][X26]") {
  ConsoleLife life;
  const json of_source{{"error", "agent_not_found"}};
  CHECK(life.post("/api/agent/nobody/abort").json() == of_source);
  CHECK(life.post("/api/agent/nobody/stop").json() == of_source);
  CHECK(life.request("DELETE", "/api/agent/nobody").json() == of_source);
  CHECK(life.post("/tasks/m1/terminate").json() == json{{"status", "error"}, {"message", "Task not found"}});
  const json of_new{
      {"ok", false}, {"error", "agent_not_found"}, {"message", "there is no agent with this id"}};
  for (const std::string verb : {"pause", "interrupt", "resume"})
    CHECK(life.post("/api/agent/nobody/" + verb).json() == of_new);
  for (const std::string part : {"", "/conversation", "/queue"})
    CHECK(life.get("/api/agent/nobody" + part).json() == of_new);
}

TEST_CASE("stop and delete answer at once with what was decided", "[console][API12][X37]") {
  ConsoleLife life;
  const Agent root = life.create("root");
  life.create("child", "root");
  life.let_wait(life.tree->find("child").value());
  const HttpAnswer stopped = life.post("/api/agent/root/stop", R"({"reason":"enough"})");
  CHECK(stopped.status == 200);
  CHECK(stopped.json() == json{{"ok", true}, {"agentId", "root"}, {"stopped", true}});
  CHECK(is_stopped(root.state().value()));
  life.runtime.run_until_idle();
  CHECK(life.post("/api/agent/root/stop").json() ==
        json{{"ok", true}, {"agentId", "root"}, {"stopped", false}, {"reason", "stopped"}});
  const HttpAnswer deleted = life.request("DELETE", "/api/agent/root");
  CHECK(deleted.status == 200);
  CHECK(deleted.json() ==
        json{{"ok", true}, {"agentId", "root"}, {"terminated", true}, {"terminatedAgentId", "root"}});
  life.runtime.run_until_idle();
  CHECK(life.tree->size() == 0);
  CHECK(life.request("DELETE", "/api/agent/root").json() == json{{"error", "agent_not_found"}});
  CHECK(life.post("/api/agent/root/stop").json() == json{{"error", "agent_not_found"}});
}

TEST_CASE("with wait=settled, stop and delete answer with the lists", "[console][API12][X37][X32][E5]") {
  ConsoleLife life;
  life.create("root");
  life.create("child", "root");
  life.create("leaf", "child");
  life.let_wait(life.tree->find("leaf").value());
  CHECK(life.post("/api/agent/root/stop?wait=settled").json() == json{{"ok", true},
                                                                      {"agentId", "root"},
                                                                      {"stopped", true},
                                                                      {"cascadeStopped", {"leaf", "child"}},
                                                                      {"cascadeFailed", json::array()}});
  CHECK(life.post("/api/agent/root/stop?wait=settled").json()["stopped"] == false);
  CHECK(life.request("DELETE", "/api/agent/root?wait=settled&reason=done").json() ==
        json{{"ok", true},
             {"agentId", "root"},
             {"terminated", true},
             {"terminatedAgentId", "root"},
             {"cascadeTerminated", {"leaf", "child"}},
             {"cascadeFailed", json::array()}});
  CHECK(life.tree->size() == 0);
  CHECK(life.post("/api/agent/root/stop?wait=settled").status == 404);
  const Agent other = life.create("other");
  CHECK(life.post("/api/agent/other/stop?wait=soon").status == 400);
  CHECK(other.state().value() == AgentState::idle);
}

TEST_CASE("a request that waits for a deferred stop is answered when the stop is withdrawn", "[console]") {
  ConsoleLife life;
  life.let_wait(life.create("a"));
  ConsoleClient waiting(life.console->port());
  waiting.send(life.text_of("POST", "/api/agent/a/stop?wait=settled", R"({"when":"after_turn"})"));
  life.until([&] { return life.get("/api/agent/a").json()["agent"]["stopPending"] == "after_turn"; });
  CHECK(life.post("/api/agent/a/resume").json()["resumed"] == true);
  std::optional<HttpAnswer> answer;
  life.until([&] { return (answer = waiting.take_answer()).has_value(); }, {&waiting});
  CHECK(answer->status == 409);
  CHECK(answer->json() == json{{"error", "withdrawn"}});
}

TEST_CASE("the reason of a delete is UTF-8", "[console]") {
  ConsoleLife life;
  life.create("a");
  const HttpAnswer refused = life.request("DELETE", "/api/agent/a?reason=%FF");
  CHECK(refused.status == 400);
  CHECK(refused.json() == json{{"error", "invalid_utf8"}});
  CHECK(life.request("DELETE", "/api/agent/a?reason=%C3%A9").json()["terminated"] == true);
}

TEST_CASE("each stop and delete is in the log with who and why", "[console][X39]") {
  ConsoleLife life;
  life.create("a");
  life.request("POST", "/api/agent/a/stop", R"({"reason":"too slow"})", "User-Agent: curl/8\r\n");
  bool found = false;
  for (const std::string& line : life.log)
    found = found || line ==
                         "console: a person used a verb verb=stop agent=a client=127.0.0.1 user_agent=curl/8 "
                         "reason=too slow result=done";
  CHECK(found);
}

TEST_CASE("agents are listed by pages, parents before children", "[console][API12]") {
  ConsoleLife life;
  for (int i = 0; i < 25; ++i)
    life.create("agent" + std::to_string(i), i % 5 == 0 ? "" : "agent" + std::to_string(i - 1));
  std::vector<std::string> all;
  json next = 0;
  while (!next.is_null()) {
    const json page = life.get("/api/agents?limit=10&after=" + std::to_string(next.get<int>())).json();
    CHECK(page["total"] == 25);
    CHECK(page["agents"].size() <= 10);
    for (const std::string& id : ids_of(page["agents"])) all.push_back(id);
    next = page["next"];
  }
  CHECK(all.size() == 25);
  const json listed = life.get("/api/agents").json()["agents"];
  CHECK(std::all_of(listed.begin(), listed.end(),
                    [](const json& each) { return each["computeStatus"] == "idle"; }));
  const json agent = life.get("/api/agent/agent3").json()["agent"];
  CHECK(agent["parentAgentId"] == "agent2");
  CHECK(agent["computeStatus"] == "idle");
  CHECK(agent["depth"] == 3);
  CHECK(agent["model"] == "");
  CHECK(agent["role"] == "normal");
  CHECK(life.get("/api/agent/agent0").json()["agent"]["parentAgentId"].is_null());
  CHECK(life.get("/api/agent/agent0/reach").json()["agents"] == 5);
  for (const std::string limit : {"0", "1001", "x", "-1"})
    CHECK(life.get("/api/agents?limit=" + limit).status == 400);
}

TEST_CASE("an agent is created, sent to, steered, interrupted, paused and resumed", "[console]") {
  ConsoleLife life;
  HttpAnswer answer = life.post("/api/agents", R"({"id":"new","systemPrompt":"Be brief."})");
  CHECK(answer.status == 201);
  CHECK(answer.json()["agent"]["id"] == "new");
  CHECK(life.post("/api/agents", R"({"id":"new"})").json()["error"] == "agent_exists");
  CHECK(life.post("/api/agents", R"({"parentId":"new"})").json()["agent"]["parentAgentId"] == "new");
  CHECK(life.post("/api/agents", R"({"parentId":"nobody"})").status == 404);

  const Agent agent = life.tree->find("new").value();
  CHECK(life.post("/api/agent/new/send", R"({"text":"hello"})").json()["ok"] == true);
  life.runtime.run_until_idle();
  const json messages = life.get("/api/agent/new/conversation").json()["messages"];
  REQUIRE(messages.size() == 3);
  CHECK(messages[1]["content"] == "hello");
  CHECK(messages[2]["role"] == "assistant");

  life.let_wait(agent);
  CHECK(life.post("/api/agent/new/steer", R"({"text":"shorter","when":"next_step"})").json()["when"] ==
        "next_step");
  CHECK(life.post("/api/agent/new/interrupt", R"({"queue":"hold"})").json()["interrupted"] == true);
  CHECK(life.post("/api/agent/new/interrupt").json()["reason"] == "turn_over");
  CHECK(life.get("/api/agent/new").json()["agent"]["queueHeld"] == true);
  CHECK(life.post("/api/agent/new/release").json()["released"] == true);
  CHECK(life.post("/api/agent/new/pause").json()["paused"] == true);
  CHECK(life.get("/api/agent/new").json()["agent"]["paused"] == true);
  CHECK(life.post("/api/agent/new/unpause").json()["unpaused"] == true);
  CHECK(life.post("/api/agent/new/resume").json() ==
        json{{"ok", true}, {"agentId", "new"}, {"resumed", false}, {"reason", "not_stopped"}});
  life.post("/api/agent/new/stop?wait=settled");
  answer = life.post("/api/agent/new/send", R"({"text":"hello"})");
  CHECK(answer.status == 409);
  CHECK(answer.json()["error"] == "agent_stopped");
  CHECK(life.post("/api/agent/new/resume").json()["resumed"] == true);
}

TEST_CASE("a deferred stop is pending until it takes effect", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  life.let_wait(agent);
  CHECK(life.post("/api/agent/a/stop", R"({"when":"after_turn"})").json()["stopped"] == true);
  CHECK(life.get("/api/agent/a").json()["agent"]["stopPending"] == "after_turn");
  CHECK(agent.state().value() == AgentState::waiting_llm);
  CHECK(life.post("/api/agent/a/stop", R"({"when":"later"})").status == 400);
  CHECK(life.post("/api/agent/a/stop", R"({"reason":")" + std::string(5000, 'x') + R"("})").status == 400);
}

TEST_CASE("all agents are stopped, resumed and paused at once", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  CHECK(life.post("/api/tree/pause").json()["paused"] == true);
  CHECK(life.post("/api/tree/unpause").json()["unpaused"] == true);
  CHECK(life.post("/api/tree/stop", R"({"reason":"fire"})").json()["stopped"] == true);
  CHECK(is_stopped(agent.state().value()));
  life.runtime.run_until_idle();
  CHECK(life.post("/api/tree/resume").json()["resumed"] == true);
  life.runtime.run_until_idle();  // agents below the one that is resumed are opened by the loop
  CHECK(agent.state().value() == AgentState::idle);
}

TEST_CASE("messages that wait are shown, and removed", "[console]") {
  ConsoleLife life;
  const Agent agent = life.create("a");
  life.let_wait(agent);
  REQUIRE(agent.send("later"));
  const json waiting = life.get("/api/agent/a/queue").json()["messages"];
  REQUIRE(waiting.size() == 1);
  CHECK(waiting[0]["text"] == "later");
  const std::string id = waiting[0]["messageId"];
  CHECK(life.request("DELETE", "/api/agent/a/queue/" + id).status == 200);
  CHECK(life.request("DELETE", "/api/agent/a/queue/" + id).status == 404);
  CHECK(life.request("DELETE", "/api/agent/a/queue/x").status == 404);
  CHECK(life.get("/api/agent/a/queue").json()["messages"].empty());
}

TEST_CASE("a body that is wrong is refused with what is wrong", "[console][G15]") {
  ConsoleLife life;
  life.create("a");
  const auto error = [&](std::string_view body, std::string_view headers = {}) {
    const HttpAnswer answer = life.request("POST", "/api/agent/a/send", body, headers);
    return std::to_string(answer.status) + " " + answer.json()["error"].get<std::string>();
  };
  CHECK(error("{") == "400 invalid_json");
  CHECK(error("[]") == "400 invalid_request");
  CHECK(error(R"({"text":5})") == "400 invalid_request");
  CHECK(error(R"({"text":""})") == "400 invalid_request");
  CHECK(error(R"({"text":"a","Text":"b"})") == "400 unknown_field");
  CHECK(error("{\"text\":\"\xff\"}") == "400 invalid_utf8");
  CHECK(error(std::string(100'000, '[')) == "400 invalid_json");
  CHECK(error(R"({"text":"a"})", "Content-Type: text/plain\r\n") == "415 unsupported_media_type");
  CHECK(error(R"({"text":"   "})") == "400 empty_message");
  CHECK(error("{\"text\":\"" + std::string(1'100'000, 'x') + "\"}") == "413 body_too_large");
  CHECK(life.get("/api/agent/a/queue").json()["messages"].empty());
}

TEST_CASE("ids may have any characters", "[console]") {
  ConsoleLife life;
  life.create("a/b%?#\"<\xf0\x9f\x98\x80");
  CHECK(life.get("/api/agent/a%2Fb%25%3F%23%22%3C%F0%9F%98%80").status == 200);
  CHECK(life.get("/api/agent/%00").json()["error"] == "agent_not_found");
  CHECK(life.get("/api/agent/%FF").json()["error"] == "agent_not_found");
  CHECK(life.get("/api/agent/" + std::string(3000, 'x')).status == 404);
  CHECK(life.get("/api/agent/a%2").status == 400);
}
