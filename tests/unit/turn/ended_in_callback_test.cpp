// A rewind ends the turn at once, also while functions of the turn are on the stack: nothing of the turn
// happens after that.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>

#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a rewind by an observer of a closed question takes back the turn of its call",
          "[turn][tools][rewind][G7]") {
  // With one lingering call at most, the end of the turn gives up the older of two calls at once.
  ToolTurn t({.max_lingering_calls = 1});
  const Agent agent = t.agent({.limits = {.parallel_tools = 2}});
  t.ask(agent);
  t.call({{.name = "held"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  t.held.calls[0].context.ask({.text = "sure?"}, [](const Answer&) {});
  t.settle();
  const auto closes = t.tree->on<QuestionClosed>([&](const QuestionClosed&) { CHECK(agent.rewind(1)); });
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.history().empty());
  CHECK(t.seen.count("ended a 1") == 1);
  CHECK(t.state("a") == AgentState::idle);
  t.held.calls[1].done(ToolResult::done("later"));
  t.settle();
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("a log sink may rewind the turn whose TokenCounter has failed",
          "[turn][context][budget][rewind][G7]") {
  for (const int failing : {1, 2, 3, 4, 5, 6, 7, 8}) {
    INFO("at count " << failing);
    Agent agent;
    int counts = 0, rewinds = 0;
    TestClock clock;
    Runtime runtime({.clock = &clock, .log = [&](const LogRecord& record) {
                       if (record.message.find("TokenCounter") != std::string_view::npos && agent.rewind(1))
                         ++rewinds;
                     }});
    FakeClient client(runtime);
    AgentTree tree(runtime, {.llm = &client});
    std::size_t ends = 0;
    const auto ended = tree.on<TurnEnded>([&](const TurnEnded&) { ++ends; });
    AgentSpec spec;
    spec.limits.budget.tokens = 100'000;
    spec.context.count_tokens = [&](std::string_view text) {
      if (++counts == failing) throw std::runtime_error("thrown on purpose");
      return text.size();
    };
    agent = tree.create(std::move(spec)).value();
    const auto poll = [&] {
      for (int i = 0; i < 5; ++i) runtime.poll();
    };
    CHECK(agent.send("question"));
    poll();
    if (client.find(agent.id())) client.answer(agent.id(), "answer");
    poll();
    CHECK(ends == 1);
    CHECK(agent.state().value() == AgentState::idle);
    CHECK(agent.conversation().value().size() == (rewinds == 0 ? 2U : 0U));
    CHECK(agent.spent().value().tokens_reserved == 0);
    CHECK(client.open_calls().empty());
  }
}

TEST_CASE("a turn that is ending is not taken back before its TurnEnded", "[turn][rewind][G7]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  Errc refused = Errc::none;
  const std::stop_callback stopped(t.held.calls[0].context.stop(), [&] {
    refused = agent.rewind(1).error().code;
    CHECK(agent.regenerate().reason == Errc::turn_over);
  });
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded&) { CHECK(agent.rewind(1)); });
  CHECK(agent.rewind(1).error().code == Errc::turn_not_found);  // the observer was first
  CHECK(refused == Errc::turn_over);
  t.settle();
  CHECK(t.history().empty());
}

TEST_CASE("no policy is asked after a stop by an observer of an approval", "[turn][tools][policy][G1]") {
  std::vector<std::string> asked;
  TreeOptions options;
  options.tool_policy = [&](const ToolRequest& request) -> ToolDecision {
    asked.emplace_back(request.arguments);
    return {Permission::ask};
  };
  ToolTurn t(std::move(options));
  const Agent agent = t.agent({.limits = {.parallel_tools = 2}});
  const auto asks =
      t.tree->on<QuestionAsked>([&](const QuestionAsked&) { CHECK(agent.stop().took_effect()); });
  t.ask(agent);
  t.call({add_call("1", 1, 2), add_call("2", 3, 4)});
  CHECK(asked.size() == 1);
  CHECK(t.state("a") == AgentState::stopped);
}
