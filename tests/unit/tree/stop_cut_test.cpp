// What the thread that stops cuts by itself, and what the loop cuts after it.
#include "support/drive/tree_fixture.hpp"

#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// A root with so many children, each in a model call.
struct Crowd : TreeFixture {
  explicit Crowd(int size) : top(root("top")), other(root("other")) {
    llm->on_stop = OnStop::deaf;
    ask(other);
    for (int i = 0; i < size; ++i) CHECK(child(top, "c" + std::to_string(i)).send("x").accepted());
    settle();
    REQUIRE(llm->open_calls().size() == static_cast<std::size_t>(size) + 1);
  }
  std::size_t triggered() const {
    std::size_t count = 0;
    for (std::size_t i = 1; i < llm->calls(); ++i) count += llm->call(i).stop.stop_requested() ? 1U : 0U;
    return count;
  }
  void finish_all() {
    for (auto* call : llm->open_calls()) FakeClient::finish(*call, ChatOutcome::cancelled());
    settle();
  }
  // On the loop thread, or on another while the loop stands still.
  static void on_thread(bool foreign, const std::function<void()>& verb) {
    if (foreign)
      std::jthread(verb).join();
    else
      verb();
  }

  Agent top, other;
};

}  // namespace

TEST_CASE("the stopping thread cuts all calls of a subtree and says how many", "[tree][G1][G5][G6]") {
  const bool foreign = GENERATE(false, true);
  Crowd t(150);
  VerbResult result;
  Crowd::on_thread(foreign, [&] { result = t.top.stop(); });
  CHECK(result.calls_cut == 150);
  CHECK(t.triggered() == 150);
  CHECK_FALSE(t.llm->call(0).stop.stop_requested());  // of an agent beside it
  CHECK(t.top.stop().calls_cut == 0);
  t.finish_all();
  CHECK(t.state("top") == AgentState::stopped);
}

TEST_CASE("a delete cuts all calls of its subtree and says how many", "[tree][G1][G5][G6]") {
  const bool foreign = GENERATE(false, true);
  Crowd t(150);
  VerbResult result;
  Crowd::on_thread(foreign, [&] { result = t.top.terminate(); });
  CHECK(result.calls_cut == 150);
  CHECK(t.triggered() == 150);
  CHECK_FALSE(t.llm->call(0).stop.stop_requested());
  t.finish_all();
  CHECK_FALSE(t.top.exists());
}

TEST_CASE("the stopping thread cuts a bounded number of calls and the loop the others", "[tree][G5][G15]") {
  const bool foreign = GENERATE(false, true);
  Crowd t(230);
  VerbResult result;
  Crowd::on_thread(foreign, [&] { result = t.top.stop(); });
  CHECK(result.calls_cut == 200);
  CHECK(t.triggered() == 200);
  t.poll();
  CHECK(t.triggered() == 230);
  t.finish_all();
}

TEST_CASE("with StopCut::few the stopping thread cuts a few calls and the loop the others",
          "[tree][G5][G15]") {
  const bool foreign = GENERATE(false, true);
  const bool deletes = GENERATE(false, true);
  Crowd t(100);
  std::size_t cut = 0;
  Crowd::on_thread(foreign, [&] {
    cut = deletes ? t.top.terminate({.cut = StopCut::few}).calls_cut
                  : t.top.stop({.cut = StopCut::few}).calls_cut;
  });
  CHECK(cut == 8);
  CHECK(t.triggered() == 8);
  t.poll();
  CHECK(t.triggered() == 100);
  t.finish_all();
}

TEST_CASE("with StopCut::none the loop cuts all calls in its next poll", "[tree][G5]") {
  const bool foreign = GENERATE(false, true);
  const auto verb = GENERATE(0, 1, 2);
  Crowd t(20);
  VerbResult result;
  Crowd::on_thread(foreign, [&] {
    if (verb == 0) result = t.top.stop({.cut = StopCut::none});
    if (verb == 1) result = t.top.terminate({.cut = StopCut::none});
    if (verb == 2) result = t.top.interrupt({.scope = Scope::subtree, .cut = StopCut::none});
  });
  CHECK(result.took_effect());
  CHECK(result.calls_cut == 0);
  CHECK(t.triggered() == 0);
  t.poll();
  CHECK(t.triggered() == 20);
  t.finish_all();
}

TEST_CASE("with StopCut::none the loop cuts the call of an interrupted turn in its next poll", "[tree][G5]") {
  Crowd t(0);
  CHECK(t.other.interrupt({.cut = StopCut::none}).calls_cut == 0);
  CHECK_FALSE(t.llm->call(0).stop.stop_requested());
  t.poll();
  CHECK(t.llm->call(0).stop.stop_requested());
  t.finish_all();
}

TEST_CASE("the loop cuts the remaining calls of a stop in one poll with any budget", "[tree][G5][G16]") {
  Crowd t(230);
  CHECK(t.top.stop({.cut = StopCut::few}).took_effect());
  t.clock.set_tick(std::chrono::seconds(1));  // each look at the clock finds the budget used up
  t.poll();
  t.clock.set_tick(Duration(0));
  CHECK(t.triggered() == 230);
  CHECK(t.seen.count("ended") < 200);  // the rest of the work keeps to the budget
  t.finish_all();
  CHECK(t.state("top") == AgentState::stopped);
}

TEST_CASE("a stop without the children cuts only the agent's own call", "[tree][X12]") {
  Crowd t(20);
  t.ask(t.top);
  const VerbResult result = t.top.stop({.scope = Scope::agent});
  CHECK(result.calls_cut == 1);
  REQUIRE(t.llm->calls() == 22);
  CHECK(t.llm->call(21).stop.stop_requested());
  t.poll();
  CHECK(t.triggered() == 1);
  t.finish_all();
}

TEST_CASE("a call that ends while it is cut may destroy the tree", "[tree][Q3]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::at_once;
  const Agent top = t.root("top");
  for (int i = 0; i < 30; ++i) CHECK(t.child(top, "c" + std::to_string(i)).send("x").accepted());
  t.settle();
  REQUIRE(t.llm->open_calls().size() == 30);
  t.check_at_end = false;
  const Subscription ends = t.tree->on_event([&](const Event& event) {
    if (event.get<TurnEnded>()) t.tree.reset();
  });
  const VerbResult result = top.stop();
  CHECK(result.took_effect());
  t.settle();
  CHECK_FALSE(top.exists());
}
