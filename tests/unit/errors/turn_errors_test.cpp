// Errors of turns: TurnResult::error.
#include "support/drive/tool_turn.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/testing/scripted_client.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// The texts of requirements I4, I10 and K3 are fixed.

Error error_without_client() {
  Runtime runtime;
  AgentTree tree(runtime);
  Error error;
  const Subscription ends = tree.on<TurnEnded>([&](const TurnEnded& end) { error = end.result->error; });
  CHECK(tree.create()->send("question").accepted());
  CHECK(runtime.run_until_idle());
  return error;
}

Error error_of_handler() {
  ToolTurn t;
  AgentSpec spec;
  spec.handler = [](const Agent&, const Message&) { throw std::runtime_error("boom"); };
  CHECK(t.agent(spec).send("question").accepted());
  t.settle();
  CHECK(t.logged("boom"));
  return t.error;
}

Error error_of_filtered_calls() {
  ToolTurn t;
  t.ask(t.agent());
  ChatOutcome filtered = ChatOutcome::completed(FinishReason::content_filter);
  filtered.tool_calls = {add_call("c1", 1, 2)};
  FakeClient::finish(*t.llm->find("a"), std::move(filtered));
  t.settle();
  return t.error;
}

void add_ends(ErrorRows& rows) {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::failed({.code = Errc::network_error}));
  t.settle();
  rows.push_back(
      {"a client reports an error without a text", t.error, Errc::network_error, "LLM call failed"});
  t.ask(agent);
  CHECK(agent.abort().took_effect());
  t.settle();
  rows.push_back({"an abort", t.error, Errc::none, "the call was aborted"});
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::cancelled());
  t.settle();
  rows.push_back({"a client cancels its call", t.error, Errc::none, "the call was stopped"});
  t.ask(agent);
  t.llm->find("a")->sink = ChatSink();
  t.settle();
  rows.push_back({"a client without an outcome", t.error, Errc::client_dropped_call,
                  "the LlmClient destroyed its ChatSink without an outcome"});
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  t.settle();
  rows.push_back({"a stop", t.error, Errc::none, "Task terminated by user"});
}

Error error_of_long_answer() {
  ToolTurn t({.max_answer_bytes = 4});
  t.ask(t.agent());
  t.llm->delta("a", "too long");
  t.settle();
  return t.error;
}

Error error_of_long_reasoning() {
  ToolTurn t({.max_answer_bytes = 4});
  t.ask(t.agent());
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete);
  outcome.reasoning = {{.dialect = "d", .data = "too long"}};
  FakeClient::finish(*t.llm->find("a"), outcome);
  t.settle();
  return t.error;
}

Error error_of_long_calls() {
  ToolTurn t({.max_answer_bytes = 4});
  t.ask(t.agent());
  t.call({add_call("x", 1, 2)});
  return t.error;
}

Error error_of_many_calls() {
  ToolTurn t;
  t.ask(t.agent());
  t.call(std::vector<ToolCall>(65, add_call("x", 1, 2)));
  return t.error;
}

Error error_of_many_rounds() {
  ToolTurn t;
  AgentSpec spec;
  spec.limits.tool_rounds = 1;
  t.ask(t.agent(spec));
  t.call({add_call("x", 1, 2)});
  t.call({add_call("y", 1, 2)});
  return t.error;
}

// Of an answer in words where JSON is required.
Error error_of_words(FinishReason reason = FinishReason::complete) {
  ToolTurn t;
  AgentSpec spec;
  spec.limits.repairs = 0;
  spec.model.response_format = {.kind = ResponseFormat::Kind::json_schema,
                                .schema = R"({"type":"object","required":["age"]})"};
  t.ask(t.agent(spec));
  t.llm->delta("a", reason == FinishReason::complete ? "{}" : "I cannot");
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::completed(reason));
  t.settle();
  return t.error;
}

Error error_of_deadline(Duration timeout, std::optional<Duration> deadline) {
  ToolTurn t;
  SendOptions options;
  if (deadline) options.deadline = t.clock.now() + *deadline;
  CHECK(t.agent({.limits = {.turn_timeout = timeout}}).send("question", std::move(options)));
  t.settle();
  t.advance(std::chrono::hours(1));
  return t.error;
}

void add_deadlines(ErrorRows& rows) {
  using namespace std::chrono_literals;
  rows.push_back(
      {"a turn that takes too long", error_of_deadline(90s, {}), Errc::deadline_exceeded,
       "the turn took longer than AgentSpec::limits.turn_timeout (90 s); if turns may take longer, set a "
       "longer one"});
  rows.push_back({"a turn that is not over at the deadline of its message", error_of_deadline(90s, 1500ms),
                  Errc::deadline_exceeded,
                  "the turn was not over at SendOptions::deadline (1500 ms after it began); if it may take "
                  "longer, set a later one"});
}

void add_invalid_answers(ErrorRows& rows) {
  const std::string why = "the answer does not match AgentSpec::model.response_format: ";
  rows.push_back({"an answer that does not match", error_of_words(), Errc::invalid_answer,
                  why + "answer.age is required"});
  rows.push_back({"a refusal where JSON is required", error_of_words(FinishReason::refusal),
                  Errc::invalid_answer,
                  why + "the answer is not valid JSON: there is an error at byte 1 of 8; it is a refusal of "
                        "the model"});
}

// Of a user agent, which no budget stops.
Error error_of_budget(const Budget& budget) {
  ToolTurn t;
  AgentSpec spec;
  spec.role = AgentRole::user;
  spec.limits.budget = budget;
  const Agent agent = t.agent(spec);
  t.ask(agent);
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::completed(FinishReason::complete, {60, 60, 120}));
  t.settle();
  t.advance(std::chrono::seconds(2));
  CHECK(agent.send("question").accepted());
  t.settle();
  return t.error;
}

Error error_of_reserved_budget() {
  ToolTurn t;
  AgentSpec spec;
  spec.limits.subtree_budget.tokens = 1000;
  const Agent parent = t.agent(spec);
  t.ask(t.child(parent, "b"));
  CHECK(t.child(parent, "c").send("question").accepted());
  t.settle();
  return t.error;
}

// The result of a turn that a budget stopped.
Error error_of_stop_by_budget() {
  ToolTurn t;
  AgentSpec spec;
  spec.limits.budget.turns = 1;
  const Agent agent = t.agent(spec);
  t.ask(agent);
  t.answer("answer");
  CHECK(agent.send("question").accepted());
  t.settle();
  return t.error;
}

void add_budgets(ErrorRows& rows) {
  const Errc code = Errc::budget_exceeded;
  rows.push_back({"a turn too many", error_of_budget({.turns = 1}), code, "turns: 1 of 1 used"});
  rows.push_back({"too many tokens", error_of_budget({.tokens = 100}), code, "tokens: 120 of 100 used"});
  rows.push_back({"the time is over", error_of_budget({.wall_clock = std::chrono::seconds(1)}), code,
                  "wall clock: the time limit has passed"});
  rows.push_back({"few tokens are left", error_of_budget({.tokens = 121}), code,
                  "tokens or cost: too little is left for the next model call"});
  rows.push_back(
      {"the rest is reserved", error_of_reserved_budget(), code,
       "tokens or cost: what is left is reserved by calls that are open; try again when they have ended"});
  rows.push_back({"a stop by a budget", error_of_stop_by_budget(), Errc::none,
                  "a budget is used up: turns: 1 of 1 used"});
}

}  // namespace

ErrorRows test::turn_errors() {
  ErrorRows rows;
  rows.push_back({"an agent without a client", error_without_client(), Errc::no_llm_client,
                  "the agent has no model: set AgentSpec::llm or handler, or TreeOptions::llm"});
  rows.push_back({"a handler that throws", error_of_handler(), Errc::callback_failed,
                  "AgentSpec::handler threw an exception: boom"});
  add_ends(rows);
  rows.push_back({"an answer that is too long", error_of_long_answer(), Errc::response_too_large,
                  "the answer is longer than TreeOptions::max_answer_bytes"});
  rows.push_back({"reasoning that is too long", error_of_long_reasoning(), Errc::response_too_large,
                  "the reasoning of the model is longer than TreeOptions::max_answer_bytes"});
  rows.push_back(
      {"tool calls that are too long", error_of_long_calls(), Errc::response_too_large,
       "the tool calls of the answer have 17 bytes, more than the 4 of TreeOptions::max_answer_bytes"});
  rows.push_back({"too many tool calls", error_of_many_calls(), Errc::response_too_large,
                  "the answer has 65 tool calls, more than the 64 allowed"});
  rows.push_back({"a tool round too many", error_of_many_rounds(), Errc::tool_round_limit,
                  "executed 1 consecutive tool_call turns without a non-tool response; to allow more, raise "
                  "AgentSpec::limits.tool_rounds"});
  rows.push_back(
      {"calls of a filtered answer", error_of_filtered_calls(), Errc::answer_cut_off,
       "the answer has tool calls, but did not end normally: a content filter ended it; none of the "
       "calls was started"});
  add_invalid_answers(rows);
  add_deadlines(rows);
  add_budgets(rows);
  return rows;
}

TEST_CASE("every error of a turn has its text", "[errors][turn]") {
  check(turn_errors());
}
