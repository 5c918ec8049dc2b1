// The result of a turn, as an object and as JSON, on every ending.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

// The step of `add 2 3` as the first one of a turn.
const std::string add_step =
    R"({"actionId":"add","byHost":false,"callId":"x1","index":1,"message":"5","outcome":"completed","resolvedMode":"sync",)"
    R"("success":true,"summary":"","taskId":null,"turn":1,"type":"action","windowId":""})";
const std::string add_action =
    R"("action":{"callId":"x1","name":"add","params":{"a":2,"b":3},"windowId":""},)"
    R"("actionResult":{"closeSource":false,"data":null,"launch":null,"message":"5","success":true,"summary":""},)";
const std::string one_call =
    R"("usage":{"cacheWriteTokens":0,"cachedTokens":0,"complete":true,"completionTokens":5,"promptTokens":10,"reasoningTokens":0,)"
    R"("totalTokens":15}})";

struct Interaction : ToolTurn {
  explicit Interaction(TreeOptions options = {}) : ToolTurn(options) {}
  void add() {
    ask(agent());
    call({add_call("x1", 2, 3)}, "let me see");
  }
};

}  // namespace

TEST_CASE("a completed turn is written as JSON in camelCase", "[turn][interaction][M1][M2][M4]") {
  Interaction t;
  t.add();
  t.answer("five");
  REQUIRE(t.result);
  CHECK(to_json(*t.result) ==
        "{" + add_action + R"("cost":null,"error":null,"parseError":null,"response":"five","steps":[)" +
            add_step + R"(],"success":true,)" + one_call);
}

TEST_CASE("a turn that failed keeps its steps", "[turn][interaction][M1][M3][M4]") {
  Interaction t;
  t.add();
  t.llm->fail("a");
  t.settle();
  CHECK_FALSE(t.result->success());
  CHECK(to_json(*t.result) ==
        "{" + add_action +
            R"("cost":null,"error":"as the test says","parseError":null,"response":"let me see","steps":[)" +
            add_step + R"(],"success":false,)" + one_call);
}

TEST_CASE("an aborted turn keeps its steps and has no response", "[turn][interaction][M1][M4]") {
  Interaction t;
  t.add();
  t.llm->delta("a", "fi");
  CHECK(t["a"].abort().took_effect());
  t.settle();
  // What the second call used is our own count: 83 tokens sent, 1 heard.
  CHECK(
      to_json(*t.result) ==
      "{" + add_action +
          R"("cost":null,"error":"the call was aborted","parseError":null,"response":"","steps":[)" +
          add_step +
          R"(],"success":false,"usage":{"cacheWriteTokens":0,"cachedTokens":0,"complete":false,"completionTokens":6,)" +
          R"("promptTokens":93,"reasoningTokens":0,"totalTokens":99}})");
}

TEST_CASE("a part of an answer that was kept is in the JSON of the turn", "[turn][interaction][partial]") {
  ToolTurn t;
  AgentSpec spec;
  spec.partial_answers = PartialAnswers::keep;
  const Agent agent = t.agent(std::move(spec));
  t.ask(agent);
  t.llm->delta("a", "The sea is");
  CHECK(agent.abort().took_effect());
  t.settle();
  const json told = json::parse(to_json(*t.result));
  CHECK(told.at("partial") == "The sea is");
  CHECK(told.at("response") == "");
}

TEST_CASE("a turn that was stopped keeps its steps and says so in a last one",
          "[turn][interaction][M1][M4][I4][I5]") {
  Interaction t;
  t.ask(t.agent());
  t.call({add_call("x1", 2, 3), {.id = "x2", .name = "held"}, {.id = "x3", .name = "held"}}, "let me see");
  CHECK(t["a"].stop().took_effect());
  t.settle();
  t.held.calls.clear();
  t.settle();
  const json told = json::parse(to_json(*t.result));
  CHECK(told["success"] == false);
  CHECK(told["error"] == "Task terminated by user");
  CHECK(told["response"] == "");
  CHECK(told["action"]["callId"] == "x3");
  CHECK(told["actionResult"].is_null());  // x3 has none, and that of another call is not its own
  REQUIRE(told["steps"].size() == 4);
  CHECK(told["steps"][0].dump() == add_step);
  CHECK(told["steps"][1]["outcome"] == "interrupted");
  CHECK(told["steps"][1]["index"] == 2);
  CHECK(told["steps"][2]["outcome"] == "not_started");
  CHECK(told["steps"][2]["message"] == "not started: its turn ended before it began");
  CHECK(
      told["steps"][3].dump() ==
      R"({"actionId":"","byHost":false,"callId":"","index":0,"message":"Task was terminated by user",)"
      R"("outcome":"not_started","resolvedMode":"sync","success":false,"summary":"","taskId":null,"turn":0,)"
      R"("type":"terminated","windowId":""})");
}

TEST_CASE("a turn that is stopped during its model call has only the last step",
          "[turn][interaction][I4][I5]") {
  for (const bool terminate : {false, true}) {
    Interaction t;
    t.ask(t.agent());
    if (terminate)
      CHECK(t["a"].terminate().took_effect());
    else
      CHECK(t["a"].stop().took_effect());
    t.settle();
    CHECK(t.result->calls.empty());
    CHECK(t.result->outcome == TurnOutcome::stopped);
    const json steps = json::parse(to_json(*t.result))["steps"];
    REQUIRE(steps.size() == 1);
    CHECK(steps[0]["type"] == "terminated");
    CHECK(t.result->error.message == "Task terminated by user");
    CHECK_FALSE(t.result->last_call);
    CHECK_FALSE(t.result->last_result);
  }
}

TEST_CASE("steps are numbered by the turn of tools and their place in the answer",
          "[turn][interaction][J8]") {
  Interaction t;
  t.ask(t.agent());
  t.call({add_call("", 1, 1), add_call("", 1, 2)});
  t.call({add_call("", 1, 3)});
  t.answer("done");
  REQUIRE(t.result->calls.size() == 3);
  std::string all;
  for (const ToolCallRecord& step : t.result->calls)
    all += step.call_id + " " + std::to_string(step.round) + " " + std::to_string(step.index) + "; ";
  CHECK(all == "call_1_1 1 1; call_1_2 1 2; call_2_1 2 1; ");
  CHECK(t.result->usage.total_tokens == 30);
}

TEST_CASE("call ids continue from turn to turn while step numbers restart", "[turn][interaction][J8]") {
  Interaction t;
  t.ask(t.agent());
  t.call({add_call("", 1, 1)});
  t.answer("done");
  t.ask(t["a"], "again");
  t.call({add_call("", 1, 1)});
  t.answer("done");
  CHECK(t.result->calls.at(0).call_id == "call_2_1");
  CHECK(t.result->calls.at(0).round == 1);
  CHECK(t.seen.count("ended a 2 completed") == 1);
}

TEST_CASE("data and windows and tasks are written as JSON", "[turn][interaction][M2][M4][L6]") {
  TurnResult result;
  const auto call = std::make_shared<ToolCall>(ToolCall{"c", "doc__go", "not JSON", "doc"});
  const auto last = std::make_shared<ToolResult>(
      ToolResult{true, "ok", R"({"page":[1,2]})", "went", Launch{"notes", R"({"page":3})"}, true});
  result.last_call = call;
  result.last_result = last;
  result.parse_error = "odd";
  result.outcome = TurnOutcome::failed;
  result.error.message = "\xff";
  result.calls.push_back({.call_id = "c",
                          .window_id = "doc",
                          .tool = "go",
                          .mode = ToolMode::async,
                          .outcome = ToolOutcome::abandoned,
                          .task_id = "task_1"});
  CHECK(
      to_json(result) ==
      R"({"action":{"callId":"c","name":"doc__go","params":"not JSON","windowId":"doc"},)"
      R"("actionResult":{"closeSource":true,"data":{"page":[1,2]},"launch":{"app":"notes","target":{"page":3}},)"
      R"("message":"ok","success":true,"summary":"went"},"cost":null,)"
      "\"error\":\"\xef\xbf\xbd\",\"parseError\":\"odd\",\"response\":\"\","
      R"("steps":[{"actionId":"go","byHost":false,"callId":"c","index":0,"message":"","outcome":"abandoned",)"
      R"("resolvedMode":"async","success":false,"summary":"","taskId":"task_1","turn":0,"type":"action",)"
      R"("windowId":"doc"}],"success":false,"usage":{"cacheWriteTokens":0,"cachedTokens":0,"complete":true,"completionTokens":0,"promptTokens":0,)"
      R"("reasoningTokens":0,"totalTokens":0}})");
  last->data = "no JSON";
  CHECK(json::parse(to_json(result))["actionResult"]["data"] == "no JSON");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  last->data = last->launch->target = call->arguments = deep;
  CHECK(json::parse(to_json(result))["actionResult"]["data"] == deep);
  CHECK(json::parse(to_json(result))["actionResult"]["launch"]["target"] == deep);
  CHECK(json::parse(to_json(result))["action"]["params"] == deep);
  CHECK(json::parse(to_json({}))["action"].is_null());
  CHECK(json::parse(to_json({}))["actionResult"].is_null());
}

TEST_CASE("a stop keeps earlier results in the history and in the steps", "[turn][interaction][I9][G8]") {
  Interaction t;
  t.add();
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.history() == "user:question!stopped, assistant:let me see[add x1], tool:x1=5");
  REQUIRE(t.result->calls.size() == 1);
  CHECK(json::parse(to_json(*t.result))["steps"].size() == 2);  // the last one is the stop
  CHECK(t.result->calls[0].success);
  REQUIRE(t.result->last_result);
  CHECK(t.result->last_result->message == "5");
}

TEST_CASE("the last call and the last result are of the same call", "[turn][M1][G10]") {
  ToolTurn t;
  const Agent agent = t.agent({.limits = {.parallel_tools = 3}});
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}, {.id = "z", .name = "held"}});
  REQUIRE(t.held.calls.size() == 3);
  SECTION("the last one ends first") {
    t.held.calls[2].done(ToolResult::done("of z"));
    t.settle();
    t.held.calls[0].done(ToolResult::done("of x"));
    t.settle();
    t.held.calls[1].done(ToolResult::done("of y"));
    t.settle();
    t.answer("done");
    REQUIRE(t.result->last_result);
    CHECK(t.result->last_call->id == "z");
    CHECK(t.result->last_result->message == "of z");
  }
  SECTION("the last one does not end") {
    t.held.calls[1].done(ToolResult::done("of y"));
    t.settle();
    CHECK(agent.interrupt().took_effect());
    t.settle();
    CHECK(t.result->last_call->id == "z");
    CHECK_FALSE(t.result->last_result);
    CHECK(to_json(*t.result).find(R"("actionResult":null)") != std::string::npos);
  }
  SECTION("a later answer has a call that does not end") {
    for (std::size_t i = 0; i < 3; ++i) t.held.calls[i].done(ToolResult::done("first round"));
    t.settle();
    t.call({{.id = "again", .name = "held"}});
    CHECK(agent.interrupt().took_effect());
    t.settle();
    CHECK(t.result->last_call->id == "again");
    CHECK_FALSE(t.result->last_result);
  }
}
