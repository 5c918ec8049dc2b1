// cancel_call and complete_call while beginnings are withheld: in a pause, and with a stop pending.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct WithheldCalls : ToolTurn {
  // True: the host supplies the result of the call. False: it cancels the call.
  const bool completes = GENERATE(true, false);
  const Agent a = agent();

  VerbResult end(std::string_view call) {
    return completes ? a.complete_call(call, ToolResult::done("by hand")) : a.cancel_call(call);
  }
  ToolOutcome outcome_of(std::size_t call) { return result->calls.at(call).outcome; }
};

}  // namespace

TEST_CASE("a call that a pause withholds can be cancelled and completed", "[turn][pause][cancel_call]") {
  WithheldCalls t;
  t.ask(t.a);
  CHECK(t.a.pause().took_effect());
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});
  CHECK(t.end("x").took_effect());
  CHECK(t.end("x").reason == Errc::call_over);
  t.settle();
  const bool both = GENERATE(true, false);
  if (both) CHECK(t.end("y").took_effect());
  t.settle();
  CHECK(t.llm->calls() == 1);
  CHECK(t.held.calls.empty());
  CHECK(t.a.unpause().took_effect());
  t.settle();
  CHECK(t.held.calls.size() == (both ? 0 : 1));
  if (!both) t.held.calls[0].done(ToolResult::done("z"));
  t.settle();
  CHECK(t.llm->calls() == 2);
  t.answer("words");
  CHECK(t.result->text == "words");
  const ToolOutcome ended = t.completes ? ToolOutcome::completed : ToolOutcome::not_started;
  CHECK(t.outcome_of(0) == ended);
  CHECK(t.result->calls.at(0).by_host == t.completes);
  CHECK(t.outcome_of(1) == (both ? ended : ToolOutcome::completed));
}

TEST_CASE("a call that runs in a pause can be cancelled and completed", "[turn][pause][cancel_call]") {
  WithheldCalls t;
  t.ask(t.a);
  t.call({{.id = "x", .name = "held"}});
  CHECK(t.a.pause().took_effect());
  CHECK(t.end("x").took_effect());
  t.settle();
  CHECK(t.seen.count("tool-end a x") == 1);
  CHECK(t.llm->calls() == 1);
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(t.a.unpause().took_effect());
  t.settle();
  CHECK(t.llm->calls() == 2);
  t.answer("words");
  CHECK(t.outcome_of(0) == (t.completes ? ToolOutcome::completed : ToolOutcome::interrupted));
}

TEST_CASE("a call can be cancelled and completed while a stop is pending", "[turn][later][cancel_call]") {
  WithheldCalls t;
  const StopWhen when = GENERATE(StopWhen::after_step, StopWhen::after_turn);
  t.ask(t.a);
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});
  CHECK(t.a.stop({.when = when}).took_effect());
  const bool read = GENERATE(true, false);
  if (read) t.settle();
  CHECK(t.end("y").took_effect());  // it has not begun
  CHECK(t.end("x").took_effect());
  t.settle();
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.held.calls.size() == 1);
  CHECK(t.llm->calls() == (when == StopWhen::after_step ? 1 : 2));
  if (when == StopWhen::after_turn) t.answer("words");
  t.settle();
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.result->outcome == (when == StopWhen::after_step ? TurnOutcome::stopped : TurnOutcome::completed));
  CHECK(t.outcome_of(0) == (t.completes ? ToolOutcome::completed : ToolOutcome::interrupted));
  CHECK(t.outcome_of(1) == (t.completes ? ToolOutcome::completed : ToolOutcome::not_started));
}

TEST_CASE("a step that a pause withholds is over when all its calls were ended",
          "[turn][pause][later][cancel_call]") {
  WithheldCalls t;
  t.ask(t.a);
  CHECK(t.a.pause().took_effect());
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}});
  CHECK(t.a.stop({.when = StopWhen::after_step}).took_effect());
  t.settle();
  CHECK(t.end("x").took_effect());
  t.settle();
  CHECK(t.a.state().value() == AgentState::processing);
  CHECK(t.end("y").took_effect());
  t.settle();
  CHECK(t.a.state().value() == AgentState::stopped);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.outcome_of(1) == (t.completes ? ToolOutcome::completed : ToolOutcome::not_started));
}
