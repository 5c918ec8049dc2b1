// An answer with tool calls that did not end as such an answer does: none of its calls begins.
#include "support/drive/tool_turn.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct CutOff : ToolTurn {
  explicit CutOff(AgentSpec spec = {}, TreeOptions options = {}) : ToolTurn(options) {
    refusals = tree->on<ToolRefused>([this](const ToolRefused& event) { refused.push_back(event.call_id); });
    ask(agent(std::move(spec)));
  }

  // The model of "a" answers with calls, and its answer ends for that reason.
  void call_until(FinishReason reason, std::vector<ToolCall> calls) {
    ChatOutcome outcome = ChatOutcome::completed(reason);
    outcome.tool_calls = std::move(calls);
    FakeClient::finish(*llm->find("a"), std::move(outcome));
    settle();
  }
  void check_nothing_began() const {
    for (const std::string& line : seen.lines) CHECK(line.rfind("tool ", 0) == line.npos);
    CHECK(held.calls.empty());
  }

  std::vector<std::string> refused;
  Subscription refusals;
};

const std::vector<ToolCall> cut_calls = {{.id = "c1", .name = "held", .arguments = "{}"},
                                         {.id = "c2", .name = "held", .arguments = R"({"x": "un)"},
                                         {.id = "c3", .name = "held"}};

const std::string not_started = "error: not started: the answer with this call did not end normally: ";

}  // namespace

TEST_CASE("no call of an answer that a token limit cut off begins, and the model reads why",
          "[turn][tools][cut_off][X30]") {
  CutOff t;
  t.call_until(FinishReason::length, cut_calls);
  t.check_nothing_began();
  CHECK(t.refused == std::vector<std::string>{"c1", "c2", "c3"});
  REQUIRE(t.llm->calls() == 2);
  const std::vector<ChatMessage>& sent = t.llm->find("a")->request.messages;
  REQUIRE(sent.size() == 5);
  for (std::size_t i = 2; i < 5; ++i) {
    CHECK(sent[i].role == Role::tool);
    CHECK(sent[i].content().rfind(not_started + "it was cut off at a token limit", 0) == 0);
  }
  for (const ToolCall& call : sent[1].tool_calls()) CHECK(nlohmann::json::accept(call.arguments));
  t.answer("done");
  REQUIRE(t.result);
  CHECK(t.result->success());
  REQUIRE(t.result->calls.size() == 3);
  for (const ToolCallRecord& call : t.result->calls) CHECK(call.outcome == ToolOutcome::not_started);
}

TEST_CASE("a turn whose answer is cut off twice fails and says how it ended", "[turn][tools][cut_off]") {
  CutOff t;
  t.call_until(FinishReason::length, cut_calls);
  t.call_until(FinishReason::length, {{.id = "c4", .name = "held", .arguments = "{}"}});
  t.check_nothing_began();
  CHECK(t.llm->calls() == 2);
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::failed);
  CHECK(t.error.code == Errc::answer_cut_off);
  CHECK(t.result->finish_reason == FinishReason::length);
  CHECK(t.result->calls.size() == 4);
}

TEST_CASE("an answer that was cut off counts as a reask", "[turn][tools][cut_off]") {
  CutOff t({}, {.max_reasks = 0});
  t.call_until(FinishReason::length, cut_calls);
  t.check_nothing_began();
  CHECK(t.llm->calls() == 1);
  CHECK(t.error.code == Errc::answer_cut_off);
}

TEST_CASE("a turn fails whose answer with calls was refused or filtered or ended for an unknown reason",
          "[turn][tools][cut_off]") {
  const auto reason = GENERATE(FinishReason::refusal, FinishReason::content_filter, FinishReason::other);
  CutOff t;
  t.call_until(reason, cut_calls);
  t.check_nothing_began();
  CHECK(t.llm->calls() == 1);
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::failed);
  CHECK(t.error.code == Errc::answer_cut_off);
  CHECK(t.result->finish_reason == reason);
  CHECK(t.refused == std::vector<std::string>{"c1", "c2", "c3"});
  // The history may be sent again: each call has its result.
  t.ask(t["a"], "again");
  CHECK(t.llm->find("a")->request.messages.size() == 6);
}

TEST_CASE("an answer with calls that ended normally starts them", "[turn][tools][cut_off]") {
  const auto reason = GENERATE(FinishReason::complete, FinishReason::tool_calls, FinishReason::unknown);
  CutOff t;
  t.call_until(reason, {add_call("c1", 1, 2)});
  CHECK(t.refused.empty());
  CHECK(t.llm->calls() == 2);
  CHECK(t.history() == "user:question, assistant:[add c1], tool:c1=3");
}

TEST_CASE("calls in a text that was cut off do not begin", "[turn][tools][cut_off][text_protocol]") {
  CutOff t({.tool_protocol = ToolProtocol::text});
  t.llm->find("a")->sink.delta(R"(<tool_call>{"id":"c1","name":"held","arguments":{}}</tool_call>)");
  FakeClient::finish(*t.llm->find("a"), ChatOutcome::completed(FinishReason::length));
  t.settle();
  t.check_nothing_began();
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("an observer of a refused call may end the turn", "[turn][tools][cut_off][verbs]") {
  CutOff t;
  const auto stop = t.tree->on<ToolRefused>([&](const ToolRefused& event) {
    if (event.call_id == "c1") static_cast<void>(t["a"].stop());
  });
  t.call_until(FinishReason::length, cut_calls);
  t.check_nothing_began();
  CHECK(t.refused == std::vector<std::string>{"c1", "c2", "c3"});  // all were refused before
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  for (const ToolCallRecord& call : t.result->calls) CHECK(call.outcome == ToolOutcome::not_started);
  CHECK(t.llm->calls() == 1);
}
