// The second phase: the settling walks when verbs overlap, calls end late, and budgets end in between.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/testing/references.hpp>

#include <set>
#include <string>

using namespace agentcore;
using namespace agentcore::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("a delete right after a stop includes the agents that had stopped before", "[tree][X13][D2][G13]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(child.stop().took_effect());
  t.settle();
  CHECK(parent.stop().took_effect());
  CHECK(parent.terminate().took_effect());
  t.settle();
  CHECK(t.tree->size() == 0);
  CHECK_FALSE(t.tree->busy());
  CHECK(t.seen.index("deleted child") < t.seen.index("deleted parent"));
  CHECK(testing::count_references(*t.tree, "child") == 0);
}

TEST_CASE("a delete of an ancestor during the settling walk of a stop leaves nothing behind",
          "[tree][X13][G13]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent parent = t.child(top, "parent");
  const Agent stopped = t.child(parent, "stopped");
  const Agent child = t.child(parent, "child");
  CHECK(stopped.stop().accepted());
  t.settle();
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<Settled>() && event.agent() == child) static_cast<void>(top.terminate());
  });
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(t.tree->size() == 0);
  CHECK(t.seen.count("deleted") == 4);
}

TEST_CASE("a stop waits for calls below an agent that stopped without its children", "[tree][G4][X12]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent middle = t.child(top, "middle");
  const Agent leaf = t.child(middle, "leaf");
  CHECK(middle.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  t.llm->on_stop = OnStop::deaf;
  t.ask(leaf);
  CHECK(top.stop().took_effect());
  t.settle();
  CHECK(t.state("leaf") == AgentState::stopping);
  CHECK(t.state("top") == AgentState::stopping);
  CHECK(t.seen.count("settled top") == 0);
  CHECK(top.resume().reason == Errc::agent_stopping);
  t.llm->answer("leaf", "late");
  t.settle();
  CHECK(t.seen.index("settled leaf stopped") < t.seen.index("settled top stopped"));
  CHECK(t.state("top") == AgentState::stopped);
}

TEST_CASE("a stop reaches the children of one that is stopping without them", "[tree][C17][E1]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent top = t.root("top");
  const Agent middle = t.child(top, "middle");
  const Agent leaf = t.child(middle, "leaf");
  t.ask(middle);
  CHECK(middle.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(t.state("leaf") == AgentState::idle);
  CHECK(leaf.send("still works").accepted());
  CHECK(top.stop().took_effect());
  t.settle();
  CHECK(t.state("leaf") == AgentState::stopped);
  CHECK(leaf.queue_length().value() == 0);
  CHECK(t.state("middle") == AgentState::stopping);
  t.llm->answer("middle", "late");
  t.settle();
  CHECK(t.state("top") == AgentState::stopped);
  CHECK(t.seen.count("settled") == 3);
}

TEST_CASE("widening a stop to the children settles before a resume", "[tree][C12][X12][G3]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
  CHECK(parent.stop().took_effect());
  CHECK(t.state("parent") == AgentState::stopped);
  CHECK(t.state("child") == AgentState::stopping);
  CHECK(parent.stop().reason == Errc::agent_stopped);
  CHECK(parent.resume().reason == Errc::agent_stopping);
  t.settle();
  CHECK(t.state("child") == AgentState::stopped);
  CHECK(t.seen.count("settled parent") == 1);
  CHECK(t.seen.count("settled child") == 1);
  CHECK(parent.resume().took_effect());
  t.settle();
  CHECK(t.state("parent") == AgentState::idle);
  CHECK(t.state("child") == AgentState::idle);
}

TEST_CASE("a widened stop that is deleted at once waits for it", "[tree][X13]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  t.child(parent, "child");
  CHECK(parent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(parent.stop().took_effect());
  CHECK(parent.terminate().took_effect());
  CHECK(t.state("child") == AgentState::stopping);
  t.settle();
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a resume passes an agent that was stopped without its children", "[tree][X4]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent middle = t.child(top, "middle");
  t.child(middle, "leaf");
  CHECK(middle.stop({.scope = Scope::agent}).took_effect());
  CHECK(top.stop().took_effect());
  t.settle();
  CHECK(top.resume().took_effect());
  t.settle();
  CHECK(t.state("top") == AgentState::idle);
  CHECK(t.state("middle") == AgentState::stopped);
  CHECK(t.state("leaf") == AgentState::idle);
}

TEST_CASE("waiting for a stop that was resumed in the meantime ends at once", "[tree][X32]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.stop().took_effect());
  t.settle();
  int reports = 0;
  CHECK(agent.stop({.on_settled = [&](const StopReport&) { ++reports; }}).reason == Errc::agent_stopped);
  CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(reports == 1);
  CHECK_FALSE(t.tree->busy());
}

TEST_CASE("a stop of a child that its parent is stopping is reported, and outlasts the parent's",
          "[tree][X4][X32]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  int reports = 0;
  CHECK(parent.stop().took_effect());
  CHECK(child.stop({.on_settled = [&](const StopReport&) { ++reports; }}).reason == Errc::agent_stopping);
  t.settle();
  CHECK(reports == 1);
  CHECK(parent.resume().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::stopped);
}

TEST_CASE("an agent below a stop never changes from stopping to terminating", "[tree][B13][X13]") {
  TreeFixture t;
  const Agent top = t.root("top");
  const Agent parent = t.child(top, "parent");
  t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  CHECK(t.state("child") == AgentState::stopping);
  CHECK(top.terminate().took_effect());
  CHECK(t.state("child") == AgentState::stopping);
  t.settle();
  CHECK(t.tree->size() == 0);
}

TEST_CASE("an old call that has not ended does not disturb the next turn", "[tree][A17][X11]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent busy = t.root("busy");
  t.ask(busy, "first");
  CHECK(busy.abort().took_effect());
  t.ask(busy, "second");
  const Agent other = t.root("other");
  t.child(other, "below");
  CHECK(other.stop().took_effect());
  t.settle();
  CHECK(t.state("busy") == AgentState::waiting_llm);
  CHECK_FALSE(t.llm->call(1).stop.stop_requested());
  t.llm->answer("busy", "answer");
  t.settle();
  CHECK(written(busy.conversation().value()) == "user:first!aborted, user:second, assistant:answer");
}

TEST_CASE("an agent that is deleted while the walk waits before it does not break the walk",
          "[tree][G4][Q2]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent slow = t.child(parent, "slow");
  for (int i = 0; i < 20; ++i) t.child(parent, "");
  t.ask(slow);
  CHECK(slow.terminate().took_effect());
  t.settle();
  REQUIRE(t.state("slow") == AgentState::terminating);
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<Settled>()) t.llm->answer("slow", "late");
  });
  CHECK(parent.terminate().took_effect());
  t.settle();
  CHECK(t.tree->size() == 0);
  CHECK(t.seen.count("deleted") == 22);
}

TEST_CASE("a walk with a small budget continues where it paused", "[tree][G16][Q2]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  std::vector<Agent> kept;
  for (int i = 0; i < 12; ++i) kept.push_back(t.child(parent, "kid" + std::to_string(i)));
  for (int i = 0; i < 12; i += 3) t.ask(kept[static_cast<std::size_t>(i)]);
  for (int i = 0; i < 12; i += 3) CHECK(kept[static_cast<std::size_t>(i)].terminate().took_effect());
  t.settle();
  t.clock.set_tick(milliseconds(1));
  CHECK(parent.terminate().took_effect());
  for (int i = 9; i >= 0; i -= 3) {
    t.poll();
    t.llm->answer("kid" + std::to_string(i), "late");
  }
  t.settle();
  CHECK(t.tree->size() == 0);
  CHECK(t.seen.count("deleted") == 13);
}

TEST_CASE("each agent below a stop reports stopping after its parent, before any of them settles",
          "[tree][X14][Q2]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  std::vector<Agent> agents{t.root("0")};
  for (std::size_t i = 1; i < 200; ++i) agents.push_back(t.child(agents[(i - 1) / 3], std::to_string(i)));
  for (const Agent& agent : agents) t.ask(agent);
  std::vector<std::size_t> order;
  const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::stopping) order.push_back(std::stoul(change.agent.id()));
  });
  CHECK(agents.front().stop().took_effect());
  t.settle();
  REQUIRE(order.size() == agents.size());
  std::set<std::size_t> reported;
  for (const std::size_t i : order) {
    CHECK((i == 0 || reported.contains((i - 1) / 3)));
    CHECK(reported.insert(i).second);
  }
  CHECK(t.seen.count("settled") == 0);
}

TEST_CASE("an agent that is removed before the walk comes to it does not hide the others from the walk",
          "[tree][G4][Q2]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  constexpr std::size_t count = 30;
  const auto name = [](std::size_t i) { return "kid" + std::to_string(i); };
  for (std::size_t i = 0; i < count; ++i) t.ask(t.child(parent, name(i)));
  for (std::size_t i = 0; i < count; i += 3) CHECK(t[name(i)].terminate().took_effect());
  t.settle();
  std::set<std::string> stopping;
  const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::stopping) stopping.insert(change.agent.id());
  });
  CHECK(parent.stop().took_effect());
  // The newest child comes first. Each that is being deleted is removed when the walk is just before it.
  std::size_t removed = 0;
  for (std::size_t i = count; i-- > 0;) {
    if (i % 3 == 0) {
      t.llm->answer(name(i), "late");
      removed += !t.tree->find(name(i));
      continue;
    }
    for (int polls = 0; !stopping.contains(name(i)) && polls < 10; ++polls) t.runtime->poll(Duration(0));
    CHECK(stopping.contains(name(i)));
  }
  CHECK(removed == 10);
  CHECK(stopping.size() == 21);  // the parent, too
}

TEST_CASE("each report counts the messages that its own verb dropped", "[tree][X32]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(child.send("one").accepted());
  CHECK(child.send("two").accepted());
  std::vector<std::string> told;
  CHECK(parent
            .stop({.on_settled =
                       [&](const StopReport& r) {
                         told.push_back("stop " + joined(r.descendants) + " " +
                                        std::to_string(r.messages_dropped));
                       }})
            .accepted());
  CHECK(parent
            .terminate({.on_settled =
                            [&](const StopReport& r) {
                              told.push_back("terminate " + joined(r.descendants) + " " +
                                             std::to_string(r.messages_dropped));
                            }})
            .accepted());
  t.settle();
  CHECK(told == std::vector<std::string>{"stop child 2", "terminate child 0"});  // each message once
}

TEST_CASE("a descendant appears once in a report", "[tree][X32][E5]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent slow = t.child(parent, "slow");
  const Agent quick = t.child(parent, "quick");
  t.ask(slow);
  std::string told;
  CHECK(parent.stop({.on_settled = [&](const StopReport& r) { told = joined(r.descendants); }}).accepted());
  t.settle();
  CHECK(quick.terminate().took_effect());
  t.settle();
  CHECK_FALSE(quick.exists());
  t.llm->answer("slow", "late");
  t.settle();
  CHECK(told == "quick slow");
}

TEST_CASE("a resume continues below an agent that was aborted in the meantime", "[tree][X4]") {
  TreeFixture t;
  const Agent other = t.root("other");
  for (int i = 0; i < 10; ++i) t.child(other, "");
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  t.settle();
  t.clock.set_tick(milliseconds(1));
  CHECK(other.stop().took_effect());
  CHECK(parent.resume().took_effect());
  CHECK(parent.send("go").accepted());
  while (t.state("parent") != AgentState::waiting_llm) t.poll();
  if (t.state("child") != AgentState::idle) CHECK(parent.abort().took_effect());
  t.settle();
  CHECK(t.state("child") == AgentState::idle);
  CHECK(t.seen.reported_state(parent) == parent.state().value());
}

TEST_CASE("an unlimited grace period does not overflow", "[tree][X12]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.stop({.grace = Duration::max()}).took_effect());
  t.advance(std::chrono::hours(1000));
  CHECK(t.state("a") == AgentState::stopping);
  t.llm->answer("a", "at last");
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
}
