// [G3, G14] What a restart finds, the next one finds, too, whatever was done in between.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <string>

using namespace agentcore;
using agentcore::test::Life;

namespace {

// A tree whose root is stopped, or is to be, while its child still works: the process ends.
void end_while_stopping(Store& store, StopWhen when) {
  Life life(store);
  testing::ScriptedReply silent;
  silent.silent = silent.deaf = true;
  life.llm.enqueue(silent);
  const Agent root = life.create("root");
  const Agent child = root.create_child({.id = "child"}).value();
  child.create_child({.id = "grandchild"}).value();
  REQUIRE(child.send("work"));
  life.runtime.poll();
  REQUIRE(root.stop({.when = when}).took_effect());
  life.runtime.poll();
  REQUIRE(root.state().value() != AgentState::stopped);
}

void check_stopped(Life& life, const char* id) {
  INFO(id);
  CHECK(life.find(id).state().value() == AgentState::stopped);
  CHECK(life.find(id).send("work").reason == Errc::agent_stopped);
}

}  // namespace

TEST_CASE("a resume of the parent alone after a restart opens no child at the next restart",
          "[persist][restore][stop][G3][G14]") {
  MemoryStore store;
  end_while_stopping(store, GENERATE(StopWhen::now, StopWhen::after_step, StopWhen::after_turn));
  {
    Life life(store);
    check_stopped(life, "child");
    REQUIRE(life.find("root").resume({.scope = Scope::agent}).took_effect());
    life.runtime.poll();
    check_stopped(life, "child");
  }
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store);
    CHECK(life.find("root").state().value() == AgentState::idle);
    check_stopped(life, "child");
    check_stopped(life, "grandchild");
    life.runtime.run_until_idle();
    CHECK(life.llm.calls() == 0);
  }
  Life life(store);
  REQUIRE(life.find("child").resume().took_effect());
  life.runtime.poll();
  CHECK(life.find("grandchild").state().value() == AgentState::idle);
}

TEST_CASE("a restart that is killed before its first commit changes nothing for the next one",
          "[persist][restore][stop][G3][G14]") {
  MemoryStore store;
  end_while_stopping(store, StopWhen::now);
  MemoryStore left;
  {
    Life life(store);
    left = store;  // what a kill leaves
  }
  {
    Life life(left);
    check_stopped(life, "child");
    REQUIRE(life.find("root").resume({.scope = Scope::agent}).took_effect());
    life.runtime.poll();
  }
  Life life(left);
  check_stopped(life, "child");
  check_stopped(life, "grandchild");
}

TEST_CASE("a resume of the roots alone after a restart opens none of their children at the next restart",
          "[persist][restore][stop][G3]") {
  MemoryStore store;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = silent.deaf = true;
    life.llm.enqueue(silent);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(child.send("work"));
    life.runtime.poll();
    REQUIRE(life.tree->stop_all().took_effect());
    life.runtime.poll();
  }
  {
    Life life(store);
    REQUIRE(life.tree->resume_all({.scope = Scope::agent}).took_effect());
    life.runtime.poll();
    check_stopped(life, "root");
  }
  Life life(store);
  check_stopped(life, "root");
  check_stopped(life, "child");
  CHECK(life.tree->create({.id = "new"}));
}

TEST_CASE("an agent that is damaged below a stop keeps its turn over two restarts",
          "[persist][restore][stop][corrupt]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    testing::ScriptedReply silent;
    silent.silent = silent.deaf = true;
    life.llm.enqueue(silent);
    const Agent root = life.create("root");
    const Agent child = root.create_child({.id = "child"}).value();
    REQUIRE(child.send("work"));
    life.runtime.poll();
    REQUIRE(root.stop({.when = StopWhen::after_turn}).took_effect());
    life.runtime.poll();
  }
  const auto messages = agentcore::test::records_of(store, {7}, RecordKey::last_of(7));
  REQUIRE(messages.size() == 1);
  StoreBatch damage, repair;
  damage.put(messages.begin()->first, "{");
  repair.put(messages.begin()->first, messages.begin()->second);
  REQUIRE(store.commit(damage, StoreSync::process));
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store);
    check_stopped(life, "child");
    life.runtime.poll();
  }
  REQUIRE(store.commit(repair, StoreSync::process));
  Life life(store);
  REQUIRE(life.restored.size() == 2);
  CHECK(life.restored[1].fate == RestoredTurn::interrupted);
  check_stopped(life, "child");
}
