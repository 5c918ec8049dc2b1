// Forks in a store, and a delete with the forks of what it deletes.
#include "support/catch.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::Life;

namespace {

std::vector<std::string> ids(const AgentTree& tree) {
  std::vector<std::string> all;
  for (const char* const id : {"a", "a1", "a2", "child", "child1", "below", "other", "other1"})
    if (tree.find(id)) all.emplace_back(id);
  return all;
}

// "a" with the child "child"; forks: a1 of a, a2 of a1, child1 (a child of a) of child; "below" is a
// child of a2; other1 is a fork of "other".
void fill(Life& life) {
  const Agent a = life.create("a");
  const Agent child = a.create_child({.id = "child"}).value();
  const Agent a1 = a.fork({.id = "a1"}).value();
  const Agent a2 = a1.fork({.id = "a2"}).value();
  CHECK(a2.create_child({.id = "below"}));
  const Agent other = life.create("other");
  CHECK(child.fork({.id = "child1"}));
  CHECK(other.fork({.id = "other1"}));
  life.runtime.run_until_idle();
}

// "a" is in a turn that does not end.
void work(Life& life) {
  testing::ScriptedReply silent;
  silent.silent = true;
  life.llm.enqueue(silent);
  REQUIRE(life.find("a").send("work"));
  while (life.find("a").state().value() != AgentState::waiting_llm) life.runtime.poll();
}

const std::vector<std::string> others{"other", "other1"};
const std::vector<std::string> forks_and_others{"a1", "a2", "below", "other", "other1"};

}  // namespace

TEST_CASE("a delete with its forks deletes them and what is below them", "[tree][delete][fork][G13]") {
  MemoryStore store;
  const bool restarts = GENERATE(false, true);
  if (restarts) {
    Life life(store);
    fill(life);
  }
  Life life(store);
  if (!restarts) fill(life);
  REQUIRE(life.find("a").terminate({.reason = "a request", .scope = Scope::with_forks}).took_effect());
  CHECK(life.find("a1").state().value() == AgentState::idle);  // the loop deletes it
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == std::vector<std::string>{"other", "other1"});
}

TEST_CASE("a delete keeps the forks unless it is said", "[tree][delete][fork]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  REQUIRE(life.find("a").terminate().took_effect());
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == std::vector<std::string>{"a1", "a2", "below", "other", "other1"});
  // Of an agent in the middle: its forks, not its origin.
  REQUIRE(life.find("a1").terminate({.scope = Scope::with_forks}).took_effect());
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == std::vector<std::string>{"other", "other1"});
}

TEST_CASE("a deferred delete defers that of the forks", "[tree][delete][fork][later]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  testing::ScriptedReply silent;
  silent.silent = true;
  life.llm.enqueue(silent);
  REQUIRE(life.find("a1").send("work"));
  while (life.find("a1").state().value() != AgentState::waiting_llm) life.runtime.poll();
  REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn, .scope = Scope::with_forks}).took_effect());
  for (int i = 0; i < 10; ++i) life.runtime.poll();
  CHECK(ids(*life.tree) == std::vector<std::string>{"a1", "other", "other1"});
  CHECK(life.find("a1").status().value().stop_pending);
}

TEST_CASE("a delete with its forks is in the store with them, or not at all", "[tree][delete][fork][G14]") {
  // What happens before the process ends.
  const int end = GENERATE(range(0, 12));
  MemoryStore store;
  MemoryStore left;
  {
    Life life(store);
    fill(life);
    REQUIRE(life.find("a").terminate({.scope = Scope::with_forks}).took_effect());
    if (end == 0) REQUIRE(life.tree->flush());  // the loop has not read the verb
    for (int polls = 1; polls < end; ++polls) life.runtime.poll(Duration(0));  // a few steps
    left = store;
  }
  if (end == 11) left = store;  // an orderly end
  const Life next(left);
  const std::vector<std::string> found = ids(*next.tree);
  if (end == 0 || end == 11) CHECK(found == others);
  CHECK((found == others || found.size() == 8));
}

TEST_CASE("a deferred delete that is withdrawn leaves the forks", "[tree][delete][fork][later]") {
  MemoryStore store;
  {
    Life life(store);
    fill(life);
    work(life);
    const TerminateOptions options{.when = StopWhen::after_turn, .scope = Scope::with_forks};
    REQUIRE(life.find("a").terminate(TerminateOptions(options)).took_effect());
    for (int i = 0; i < 10; ++i) life.runtime.poll();
    CHECK_FALSE(life.find("a1").status().value().stop_pending);
    REQUIRE(life.find("a").resume().took_effect());
    for (int i = 0; i < 10; ++i) life.runtime.poll();
    CHECK(ids(*life.tree).size() == 8);
    if (GENERATE(false, true)) {  // a delete that keeps them, too
      REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn}).took_effect());
      REQUIRE(life.tree->flush());
      MemoryStore left = store;
      const Life next(left);
      CHECK(ids(*next.tree) == forks_and_others);
    }
    REQUIRE(life.find("a").terminate().took_effect());
    life.runtime.run_until_idle();
    CHECK(ids(*life.tree) == forks_and_others);
  }
  const Life next(store);
  CHECK(ids(*next.tree) == forks_and_others);
}

TEST_CASE("a deferred delete with its forks deletes them, whatever makes it take effect",
          "[tree][delete][fork][later][G14]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  work(life);
  const bool was_pending = GENERATE(false, true);
  if (was_pending) REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn}).took_effect());
  REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn, .scope = Scope::with_forks}).took_effect());
  if (GENERATE(false, true))
    for (int i = 0; i < 10; ++i) life.runtime.poll();
  switch (GENERATE(0, 1, 2)) {
    case 0:
      REQUIRE(life.find("a").terminate().took_effect());
      break;
    case 1:
      REQUIRE(life.find("a").stop().took_effect());
      break;
    default:
      REQUIRE(life.tree->flush());
      {
        MemoryStore left = store;
        const Life next(left);
        CHECK(ids(*next.tree) == others);
      }
      REQUIRE(life.find("a").abort({}).took_effect());
  }
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == others);
  REQUIRE(life.tree->flush());
  MemoryStore left = store;  // the first tree still uses the store
  const Life next(left);
  CHECK(ids(*next.tree) == others);
}

TEST_CASE("a delete that has no effect leaves the forks", "[tree][delete][fork]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  REQUIRE(life.find("a").terminate().took_effect());
  TerminateOptions options{.scope = Scope::with_forks};
  int reports = 0;
  const bool reported = GENERATE(false, true);
  if (reported) options.on_settled = [&](const StopReport&) { ++reports; };
  CHECK(life.find("a").terminate(std::move(options)).reason == Errc::agent_terminating);
  life.runtime.run_until_idle();
  CHECK(reports == (reported ? 1 : 0));
  CHECK(ids(*life.tree) == forks_and_others);
}

TEST_CASE("the fork of a fork that is gone is one of its origin", "[tree][delete][fork][G13]") {
  MemoryStore store;
  // How the fork in the middle goes: at work, or found as being deleted by a restart.
  const int gone = GENERATE(0, 1, 2);
  {
    Life life(store);
    fill(life);
    REQUIRE(life.find("a1").terminate().took_effect());
    if (gone == 0) life.runtime.run_until_idle();
    if (gone == 1) life.runtime.poll(Duration(0));
    if (gone == 2) REQUIRE(life.tree->flush());
  }
  for (int restarts = 0; restarts < 2; ++restarts) {
    Life life(store);
    life.runtime.run_until_idle();
    CHECK_FALSE(life.tree->find("a1"));
  }
  Life life(store);
  REQUIRE(life.find("a").terminate({.scope = Scope::with_forks}).took_effect());
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == others);
}

TEST_CASE("the fork of a fork that was deleted is deleted with its origin", "[tree][delete][fork][G13]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  REQUIRE(life.find("a1").terminate().took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.find("a").terminate({.scope = Scope::with_forks}).took_effect());
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == others);
}

TEST_CASE("a pending delete takes the forks, also if a stop and a delete that keeps them come first",
          "[tree][delete][fork][later][G14]") {
  MemoryStore store;
  Life life(store);
  fill(life);
  work(life);
  REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn, .scope = Scope::with_forks}).took_effect());
  for (int i = 0; i < 4; ++i) life.runtime.poll();
  REQUIRE(life.find("a").stop().took_effect());
  REQUIRE(life.find("a").terminate().took_effect());
  REQUIRE(life.tree->flush());
  MemoryStore left = store;
  const Life next(left);
  CHECK(ids(*next.tree) == others);
  life.runtime.run_until_idle();
  CHECK(ids(*life.tree) == others);
}

TEST_CASE("an agent that is created within the creation of a fork keeps its own conversation in the store",
          "[persist][fork][restore][G14]") {
  MemoryStore store;
  {
    Life life(store);
    AgentSpec spec;
    spec.history = {ChatMessage::user("one"), ChatMessage::assistant("1")};
    const Agent a = life.create("a", spec);
    life.runtime.run_until_idle();
    const auto hook = life.tree->on<AgentCreated>([&](const AgentCreated& created) {
      if (created.agent.id() != "fork") return;
      spec.history = {ChatMessage::user("other"), ChatMessage::assistant("2")};
      life.create("created", spec);
    });
    REQUIRE(a.fork({.id = "fork"}));
    REQUIRE(life.tree->flush());
  }
  Life life(store);
  using Texts = std::vector<std::string>;
  CHECK(Life::texts(life.find("fork")) == Texts{"one", "1"});
  CHECK(Life::texts(life.find("created")) == Texts{"other", "2"});
}
