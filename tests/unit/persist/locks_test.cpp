// A host whose on_wake takes a lock of its own, while other threads call verbs under that lock.
#include "support/store/life.hpp"

#include <agentcore/memory_store.hpp>

#include <thread>

using namespace agentcore;
using namespace agentcore::test;

// Each verb is called on this thread, and wakes the loop. While on_wake runs, another thread calls a verb,
// and on_wake waits for it: that thread must not meet a mutex of ours.
TEST_CASE("no mutex of the library is held while a verb wakes the loop", "[persist][stop][threads][Q2]") {
  MemoryStore store;
  Life life(store);
  const Agent parent = life.create("parent");
  const Agent child = parent.create_child({.id = "child"}).value();
  const Agent other = life.create("other");
  REQUIRE(parent.stop({.scope = Scope::subtree}).took_effect());
  life.runtime.run_until_idle();

  int wakes = 0;
  const Subscription wake = life.runtime.on_wake([&] {
    ++wakes;
    std::thread([&] {
      static_cast<void>(other.stop());
      static_cast<void>(other.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}));
      static_cast<void>(other.pause());
    }).join();
  });
  SECTION("a stop of an agent that an ancestor has stopped") {
    CHECK(child.stop().reason == Errc::agent_stopped);
  }
  SECTION("a stop of all below an agent, one of which was stopped alone") {
    const Agent top = life.create("top");
    const Agent below = top.create_child({.id = "below"}).value();
    REQUIRE(below.stop().took_effect());
    life.runtime.run_until_idle();
    wakes = 0;
    CHECK(top.stop({.scope = Scope::descendants}).reason == Errc::agent_stopped);
  }
  SECTION("a stop, a resume, a delete") {
    CHECK(parent.resume().took_effect());
    life.runtime.run_until_idle();
    CHECK(parent.stop().took_effect());
    life.runtime.run_until_idle();
    CHECK(parent.terminate().took_effect());
  }
  SECTION("an interrupt of a subtree, a release, a pause") {
    const Agent top = life.create("top");
    life.runtime.run_until_idle();
    CHECK(top.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}).took_effect());
    life.runtime.run_until_idle();
    CHECK(top.release_queue().took_effect());
    life.runtime.run_until_idle();
    CHECK(top.pause().took_effect());
  }
  CHECK(wakes > 0);
}
