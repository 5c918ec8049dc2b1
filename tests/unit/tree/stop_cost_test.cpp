// What a stop costs: by the size of what it stops, not of the tree around it. Counted in steps, not in time.
#include "support/drive/tool_turn.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// How many polls the stop of `agent` takes, when a poll has time for a few steps only.
int polls_to_stop(TreeFixture& t, const Agent& agent) {
  t.clock.set_tick(std::chrono::milliseconds(1));
  bool settled = false;
  const auto watch = t.tree->on_event([&](const Event& event) {
    const auto* const end = event.get<Settled>();
    settled = settled || (end && end->agent == agent);
  });
  REQUIRE(agent.stop().took_effect());
  int polls = 0;
  for (; !settled && polls < 10'000; ++polls) t.poll();
  CHECK(settled);
  t.clock.set_tick(Duration(0));
  return polls;
}

int polls_beside(int others) {
  TreeFixture t({}, false);
  for (int i = 0; i < others; ++i) t.ask(t.root("other " + std::to_string(i)));
  const Agent parent = t.root("parent");
  t.ask(t.child(parent, "child"));
  t.ask(parent);
  const int polls = polls_to_stop(t, parent);
  CHECK(t.llm->open_calls().size() == static_cast<std::size_t>(others));
  return polls;
}

}  // namespace

TEST_CASE("the stop of a small subtree takes no more steps in a tree with many open calls",
          "[tree][stop][G4]") {
  const int alone = polls_beside(2);
  CHECK(polls_beside(2000) <= 2 * alone + 20);
}

TEST_CASE("the loop cuts the calls of children that the stopping thread left", "[tree][stop][G5][G6]") {
  for (const std::size_t count : {std::size_t{9}, std::size_t{63}, std::size_t{64}, std::size_t{300}}) {
    TreeFixture t({}, false);
    t.llm->on_stop = OnStop::deaf;
    const Agent parent = t.root("parent");
    for (std::size_t i = 0; i < count; ++i) t.ask(t.child(parent, "child " + std::to_string(i)));
    CHECK(parent.stop().took_effect());
    t.poll();
    t.settle();
    std::size_t cut = 0;
    for (const FakeClient::Call* const call : t.llm->open_calls()) cut += call->stop.stop_requested();
    CHECK(cut == count);
    CHECK(t.seen.count("ended") == count);
  }
}

TEST_CASE("the loop cuts the parallel tools that the stopping thread left", "[tree][stop][G5][G9]") {
  constexpr std::size_t count = 9;
  ToolTurn t;
  t.ask(t.agent({.limits = {.parallel_tools = count}}));
  t.call(std::vector<ToolCall>(count, ToolCall{.name = "held"}));
  REQUIRE(t.held.calls.size() == count);
  CHECK(t["a"].stop().took_effect());
  t.settle();
  for (const HeldTool::Call& call : t.held.calls) CHECK(call.context.stop().stop_requested());
  for (HeldTool::Call& call : t.held.calls) call.done(ToolResult::failed("stopped"));
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a delete of agents that wait for their own stops ends each of them once", "[tree][stop][G4]") {
  constexpr int count = 200;
  TreeFixture t;
  int reports = 0;
  const Agent parent = t.root("parent");
  for (int i = 0; i < count; ++i) t.child(parent, "child " + std::to_string(i));
  CHECK(parent.terminate({.on_settled = [&](const StopReport&) { ++reports; }}).took_effect());
  for (int i = 0; i < count; ++i)
    CHECK(t["child " + std::to_string(i)]
              .stop({.on_settled = [&](const StopReport&) { ++reports; }})
              .accepted());
  t.settle();
  CHECK(reports == count + 1);
  CHECK(t.tree->size() == 0);
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("stops for later of many agents take effect one by one within the budget of a poll",
          "[tree][stop][later][G16]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  std::vector<Agent> children;
  for (int i = 0; i < 50; ++i) children.push_back(t.child(parent, "c" + std::to_string(i)));
  t.settle();
  CHECK(parent.stop({.scope = Scope::descendants, .when = StopWhen::after_turn}).took_effect());
  const auto closed = [&] {
    return std::count_if(children.begin(), children.end(),
                         [](const Agent& child) { return child.state().value() != AgentState::idle; });
  };
  std::ptrdiff_t before = 0;
  for (int polls = 0; before < 50 && polls < 10'000; ++polls) {
    t.runtime->poll(Duration(0));  // one step of each stage
    const std::ptrdiff_t now = closed();
    CHECK(now <= before + 1);
    before = now;
  }
  t.settle();
  CHECK(t.seen.count("settled c") == 50);
}

TEST_CASE("a stop for later that takes effect does not count the agents again for the others",
          "[tree][stop][later][G16]") {
  const auto polls_of_the_first = [](int count) {
    TreeFixture t({}, false);
    const Agent parent = t.root("parent");
    for (int i = 0; i < count; ++i) t.ask(t.child(parent, "c" + std::to_string(i)));
    CHECK(parent.stop({.scope = Scope::descendants, .when = StopWhen::after_turn}).took_effect());
    t.settle();
    const Agent first = t["c0"];
    t.llm->answer("c0", "words");
    int polls = 0;
    for (; first.state().value() != AgentState::stopped && polls < 10'000; ++polls)
      t.runtime->poll(Duration(0));  // one step of each stage
    CHECK(first.state().value() == AgentState::stopped);
    t.llm->answer_all();
    t.settle();
    return polls;
  };
  CHECK(polls_of_the_first(100) == polls_of_the_first(2));
}
