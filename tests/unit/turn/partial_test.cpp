// Partial answers: what is kept of an answer that was not completed.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr SteerOptions now{.when = SteerWhen::now};

AgentSpec keeping() {
  AgentSpec spec;
  spec.partial_answers = PartialAnswers::keep;
  return spec;
}

AgentSpec keeping_blocks() {
  AgentSpec spec = keeping();
  spec.tool_protocol = ToolProtocol::text;
  return spec;
}

// The end of a turn in the middle of its answer, and the mark that it leaves.
struct Ending {
  std::string mark;
  std::function<void(ToolTurn&, const Agent&)> end;
};

const std::vector<Ending>& endings() {
  static const std::vector<Ending> all = {
      {"aborted", [](ToolTurn&, const Agent& agent) { CHECK(agent.abort().took_effect()); }},
      {"interrupted", [](ToolTurn&, const Agent& agent) { CHECK(agent.interrupt().took_effect()); }},
      {"stopped", [](ToolTurn&, const Agent& agent) { CHECK(agent.stop().took_effect()); }},
      {"failed", [](ToolTurn& t, const Agent&) { t.llm->fail("a"); }},
      {"aborted",
       [](ToolTurn& t, const Agent&) { FakeClient::finish(*t.llm->find("a"), ChatOutcome::cancelled()); }},
      {"failed", [](ToolTurn& t, const Agent&) { t.llm->delta("a", std::string(2000, 'x')); }},
      {"failed", [](ToolTurn& t, const Agent&) { t.advance(std::chrono::hours(1)); }},
  };
  return all;
}

}  // namespace

TEST_CASE("a partial answer is kept with the mark of the end of its turn, however that ends",
          "[turn][partial][G8]") {
  for (const Ending& ending : endings()) {
    TreeOptions options;
    options.max_answer_bytes = 1000;
    ToolTurn t(options);
    AgentSpec spec = keeping();
    spec.limits.turn_timeout = std::chrono::minutes(10);
    const Agent agent = t.agent(std::move(spec));
    t.ask(agent);
    t.llm->delta("a", "The sea ");
    t.llm->delta("a", "is");
    std::string at_end;
    const auto ended = t.tree->on<TurnEnded>(
        [&](const TurnEnded& end) { at_end = written(end.agent.conversation().value()); });
    ending.end(t, agent);
    t.settle();
    INFO(ending.mark);
    REQUIRE(t.result);
    CHECK(t.result->partial == "The sea is");
    CHECK(t.result->text.empty());
    CHECK(at_end == "user:question!" + ending.mark + ", assistant:The sea is!" + ending.mark);
    CHECK(is_valid_history(agent.conversation().value()));
    CHECK(repair_history(agent.conversation().value()).changes.empty());
  }
}

TEST_CASE("nothing is kept of an answer by default, and nothing that is only white space",
          "[turn][partial][G8][A19][X50]") {
  for (const PartialAnswers kept : {PartialAnswers::drop, PartialAnswers::keep}) {
    ToolTurn t;
    AgentSpec spec;
    spec.partial_answers = kept;
    const Agent agent = t.agent(std::move(spec));
    t.ask(agent);
    t.llm->delta("a", kept == PartialAnswers::drop ? "The sea" : " \n");
    CHECK(agent.interrupt().took_effect());
    t.settle();
    CHECK(t.history() == "user:question!interrupted");
    CHECK(t.result->partial.empty());
  }
}

TEST_CASE("a partial answer has what observers have received, without tool calls and reasoning",
          "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping_blocks());
  std::string shown;
  const auto deltas = t.tree->on<DeltaReceived>([&](const DeltaReceived& delta) { shown += delta.text; });
  t.ask(agent);
  t.llm->reason("a", "thinking");
  for (const char* const piece : {"Let me add. <tool_", "call>{\"name\":", "\"add\"}</tool_call> So <to"})
    t.llm->delta("a", piece);
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(shown == "Let me add.  So ");
  CHECK(t.result->partial == shown);
  const ChatMessage last = agent.conversation().value().back();
  CHECK(last.content() == shown);
  CHECK(last.is_partial());
  CHECK((last.tool_calls().empty() && last.reasoning().empty()));
}

TEST_CASE("a partial answer ends with a whole character", "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  t.ask(agent);
  t.llm->delta("a", "caf\xC3\xA9 \xF0\x9F\x98");
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(t.result->partial == "caf\xC3\xA9 ");
}

TEST_CASE("an answer that is complete, but not written when its turn ends early, is kept",
          "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  t.ask(agent);
  const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::processing) CHECK(agent.interrupt().took_effect());
  });
  t.answer("The sea is blue.");
  t.settle();
  CHECK(t.history() == "user:question!interrupted, assistant:The sea is blue.!interrupted");
  CHECK(t.result->partial == "The sea is blue.");
}

TEST_CASE("nothing is kept of a complete answer that is refused", "[turn][partial][G8]") {
  ToolTurn t;
  AgentSpec spec = keeping();
  spec.limits.tool_rounds = 0;
  const Agent agent = t.agent(std::move(spec));
  t.ask(agent);
  t.call({add_call("1", 1, 2)}, "Let me add.");
  CHECK(t.error.code == Errc::tool_round_limit);
  CHECK(t.history() == "user:question!failed");
  CHECK(t.result->partial.empty());
  CHECK(t.result->text == "Let me add.");
}

TEST_CASE("nothing of an answer is kept twice after its tool calls were written", "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  t.ask(agent);
  t.llm->delta("a", "I hold it.");
  t.call({{.name = "held"}});
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(t.result->partial.empty());
  CHECK_FALSE(agent.conversation().value().back().is_partial());
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("an answer that a steered message ends is kept before that message", "[turn][partial][steer][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  std::size_t kept = 0;
  const auto cuts = t.tree->on<ModelCallEnded>([&](const ModelCallEnded& ended) { kept = ended.kept_bytes; });
  t.ask(agent);
  t.llm->delta("a", "The sea is");
  REQUIRE(agent.steer("shorter", now).ended_call);
  REQUIRE(agent.steer("and in French", now).ended_call);
  const auto steers = t.tree->on<Steered>(
      [&](const Steered& steered) { CHECK(is_valid_history(steered.agent.conversation().value())); });
  t.settle();
  CHECK(kept == std::string_view("The sea is").size());
  REQUIRE(t.llm->calls() == 2);
  CHECK(written(t.llm->call(1).request.messages) ==
        "user:question, assistant:The sea is!steered, user+:shorter, user+:and in French");
  t.answer("bleue");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.result->partial.empty());
  CHECK(t.history() ==
        "user:question, assistant:The sea is!steered, user+:shorter, user+:and in French, assistant:bleue");
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("an answer that a steered message has ended gets the mark of its turn, if that ends first",
          "[turn][partial][steer][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  t.ask(agent);
  t.llm->delta("a", "The sea is");
  REQUIRE(agent.steer("shorter", now).ended_call);
  const auto cuts = t.tree->on<ModelCallEnded>(
      [&](const ModelCallEnded&) { CHECK(agent.interrupt({.queue = QueueAction::hold}).took_effect()); });
  t.settle();
  CHECK(t.history() == "user:question!interrupted, assistant:The sea is!interrupted");
  CHECK(t.result->partial == "The sea is");
}

TEST_CASE("an agent goes on after a partial answer, also after a restore", "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping());
  t.ask(agent);
  t.llm->delta("a", "The sea is");
  CHECK(agent.interrupt().took_effect());
  t.settle();
  AgentSpec spec = keeping();
  spec.history = agent.conversation().value();
  const Agent again = t.root("b", std::move(spec));
  CHECK(again.conversation().value() == agent.conversation().value());
  t.ask(again, "go on");
  t.llm->answer("b", "blue");
  t.settle();
  CHECK(written(again.conversation().value()) ==
        "user:question!interrupted, assistant:The sea is!interrupted, user:go on, assistant:blue");
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("text that was held because it could begin a block is a part of the kept answer",
          "[turn][partial][G8]") {
  ToolTurn t;
  const Agent agent = t.agent(keeping_blocks());
  t.ask(agent);
  t.llm->delta("a", "4 <tool");
  const auto last = t.tree->on<DeltaReceived>([&](const DeltaReceived& delta) {
    CHECK(delta.text == "<tool");
    CHECK(agent.stop().took_effect());
  });
  t.llm->answer("a", "");
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->partial == "4 <tool");
  CHECK(t.history() == "user:question!stopped, assistant:4 <tool!stopped");
}
