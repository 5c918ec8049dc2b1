// ToolResult::end_turn: the result of a tool is the answer of the turn.
#include "support/drive/tool_turn.hpp"

#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

ToolResult ending(std::string message) {
  ToolResult result = ToolResult::done(std::move(message));
  result.end_turn = true;
  return result;
}

struct EndTurn : ToolTurn {
  explicit EndTurn(TreeOptions options = {}) : ToolTurn(std::move(options)) {
    tools->add(make_tool({.name = "finish", .parameters = R"({"type":"object"})"},
                         [](const json& arguments, const ToolContext&) {
                           return ending(arguments.value("text", std::string()));
                         }));
  }
  // A turn whose model calls these tools.
  void run(std::vector<ToolCall> calls, AgentSpec spec = {}) {
    ask(agent(std::move(spec)));
    call(std::move(calls));
  }
};

ToolCall finish(std::string id, const std::string& text) {
  return {.id = std::move(id), .name = "finish", .arguments = json{{"text", text}}.dump()};
}

}  // namespace

TEST_CASE("a result that ends the turn is its answer", "[turn][tools][end_turn][X42][G8]") {
  EndTurn t;
  t.run({finish("x", "done")});
  CHECK(t.llm->calls() == 1);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.history() == "user:question, assistant:[finish x], tool:x=done, assistant:done");
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.result->finish_reason == FinishReason::complete);
  CHECK(t.result->text == "done");
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::completed);
  CHECK(t.seen.lines.back() == "a processing>idle");
  t.ask(t["a"], "next");
  CHECK(t.llm->histories_were_valid());
  t.answer("well");
  CHECK(t.result->text == "well");
}

TEST_CASE("the answer is without the words and the reasoning of the model", "[turn][tools][end_turn]") {
  EndTurn t;
  t.ask(t.agent());
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
  outcome.tool_calls = {finish("x", "done")};
  outcome.reasoning = {{.data = "{}"}};
  t.llm->delta("a", "let me see");
  FakeClient::finish(*t.llm->find("a"), std::move(outcome));
  t.settle();
  const std::vector<ChatMessage> history = t["a"].conversation().value();
  CHECK(t.result->text == "done");
  CHECK(history.at(1).reasoning().size() == 1);
  CHECK(history.back().content() == "done");
  CHECK(history.back().reasoning().empty());
}

TEST_CASE("the other calls of the answer end first and the first that ends the turn counts",
          "[turn][tools][end_turn][X42]") {
  EndTurn t;
  t.run(
      {{.id = "w", .name = "held"}, finish("x", "first"), finish("y", "second"), {.id = "z", .name = "held"}},
      {.limits = {.parallel_tools = 4}});
  REQUIRE(t.held.calls.size() == 2);
  CHECK(t.state("a") == AgentState::processing);
  t.held.calls[1].done(ToolResult::failed("no"));
  t.settle();
  CHECK_FALSE(t.result);
  t.held.calls[0].done(ending("the first in the order of the calls"));
  t.settle();
  CHECK(t.result->text == "the first in the order of the calls");
  CHECK(t.llm->calls() == 1);
  CHECK(
      t.history().ends_with("tool:x=first, tool:y=second, tool:z=error: no, "
                            "assistant:the first in the order of the calls"));
}

TEST_CASE("a failed result does not end the turn", "[turn][tools][end_turn]") {
  EndTurn t;
  t.tools->add(make_tool({.name = "fails"}, [](const json&, const ToolContext&) {
    ToolResult result = ToolResult::failed("no");
    result.end_turn = true;
    return result;
  }));
  t.tools->add(make_tool({.name = "opens"}, [](const json&, const ToolContext&) {
    ToolResult result = ending("opened");
    result.launch = Launch{"app"};  // it cannot be opened: the registry has no handler
    return result;
  }));
  t.run({{.id = "x", .name = "fails"}, {.id = "y", .name = "opens"}});
  CHECK(t.llm->calls() == 2);
  CHECK(t.state("a") == AgentState::waiting_llm);
}

TEST_CASE("an answer by a tool is not checked", "[turn][tools][end_turn]") {
  EndTurn t;
  t.run({finish("x", "no json")},
        {.model = {.response_format = {.kind = ResponseFormat::Kind::json_object}}});
  CHECK(t.result->text == "no json");
  CHECK(t.result->success());
}

TEST_CASE("an empty message ends the turn with an empty answer", "[turn][tools][end_turn][G8]") {
  EndTurn t;
  t.run({finish("x", "")});
  CHECK(t.result->success());
  CHECK(t.result->text.empty());
  CHECK(t.history() == "user:question, assistant:[finish x], tool:x=, assistant:");
  t.ask(t["a"], "next");
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("the host can end the turn with the result of a call", "[turn][tools][end_turn][complete_call]") {
  for (const char* const tool : {"held", "risky"}) {
    EndTurn t;
    t.tools->add({{.name = "risky", .needs_approval = true}, t.held.start()});
    t.run({{.id = "x", .name = tool}});
    CHECK(t["a"].complete_call("x", ending("by hand")).took_effect());
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(t.result->text == "by hand");
    CHECK(t.result->calls.at(0).by_host);
  }
}

TEST_CASE("a background task does not end a turn", "[turn][tools][end_turn]") {
  EndTurn t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  t.run({{.id = "x", .name = "bg"}}, {.limits = {.background_tasks = 1}});
  CHECK(t.llm->calls() == 2);
  t.held.calls.at(0).done(ending("done"));
  t.settle();
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.answer("well");
  CHECK(t.result->text == "well");
}

TEST_CASE("a simulated turn ends with the message", "[turn][tools][end_turn]") {
  EndTurn t;
  t.agent();
  CHECK(t["a"].simulate(R"(<tool_call>{"name":"finish","arguments":{"text":"done"}}</tool_call>)"));
  t.settle();
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.result->text == "done");
  CHECK(t.llm->calls() == 0);
}

TEST_CASE("a pause does not hold back the end of a turn", "[turn][tools][end_turn]") {
  EndTurn t;
  t.run({{.id = "x", .name = "held"}});
  CHECK(t["a"].pause().took_effect());
  t.held.calls.at(0).done(ending("done"));
  t.settle();
  CHECK(t.result->text == "done");
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a deferred stop follows the end of the turn", "[turn][tools][end_turn]") {
  for (const StopWhen when : {StopWhen::after_step, StopWhen::after_turn}) {
    EndTurn t;
    t.run({{.id = "x", .name = "held"}});
    CHECK(t["a"].stop({.when = when}).took_effect());
    t.held.calls.at(0).done(ending("done"));
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::completed);
    CHECK(t.result->text == "done");
    CHECK(t.state("a") == AgentState::stopped);
  }
}

TEST_CASE("a stop by an observer of the last result comes before the end", "[turn][tools][end_turn][G1]") {
  EndTurn t;
  const auto stops = t.tree->on<ToolEnded>([&](const ToolEnded&) { static_cast<void>(t["a"].stop()); });
  t.run({finish("x", "done")});
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.result->text.empty());
  CHECK(t.history() == "user:question!stopped, assistant:[finish x], tool:x=done");
}

TEST_CASE("a message that was steered while the last call ran begins the next turn",
          "[turn][tools][end_turn][steer]") {
  EndTurn t;
  t.run({{.id = "x", .name = "held"}});
  REQUIRE(t["a"].steer("wait").accepted());
  t.held.calls.at(0).done(ending("done"));
  t.settle();
  CHECK(t.result->text == "done");
  CHECK(t.seen.count("started a 2") == 1);
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("a turn that a tool ends is the last one of a budget as any other", "[turn][tools][end_turn]") {
  EndTurn t;
  t.run({finish("x", "done")}, {.limits = {.budget = {.turns = 1}}});
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.state("a") == AgentState::idle);
  REQUIRE(t["a"].send("next").accepted());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);  // the budget is used up
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("the output of a program cannot end a turn", "[turn][tools][end_turn][subprocess]") {
  EndTurn t;
  t.tools->add(make_subprocess_tool(
      {.name = "prints"}, {.command = [](const json&) -> SubprocessCommand {
        return {.arguments = {"printf", R"({"success":true,"message":"x","end_turn":true,"endTurn":true})"}};
      }}));
  t.run({{.id = "x", .name = "prints"}});
  REQUIRE(t.drive([&] { return t.llm->calls() == 2; }));
  CHECK(t.state("a") == AgentState::waiting_llm);
}
