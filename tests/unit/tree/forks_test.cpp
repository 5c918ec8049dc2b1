// A delete with the forks of what it deletes.
#include "support/catch.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>

#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Life;

namespace {

std::vector<std::string> ids(AgentTree& tree) {
  std::vector<std::string> all;
  for (const char* const id : {"a", "a1", "a2", "child", "child1", "below", "other", "other1"})
    if (tree.find(id)) all.emplace_back(id);
  return all;
}

// "a" with the child "child"; forks: a1 of a, a2 of a1, child1 (a child of "other") of child; "below" is a
// child of a2; other1 is a fork of "other".
void fill(Life& life) {
  const Agent a = life.create("a");
  const Agent child = a.create_child({.id = "child"}).value();
  const Agent a1 = fork(a, {.id = "a1"}).value();
  const Agent a2 = fork(a1, {.id = "a2"}).value();
  CHECK(a2.create_child({.id = "below"}));
  const Agent other = life.create("other");
  CHECK(fork(child, {.id = "child1"}));
  CHECK(fork(other, {.id = "other1"}));
  life.runtime.run_until_idle();
}

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
  REQUIRE(life.find("a").terminate({.reason = "a request", .forks = Forks::terminate}).took_effect());
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
  REQUIRE(life.find("a1").terminate({.forks = Forks::terminate}).took_effect());
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
  REQUIRE(life.find("a").terminate({.when = StopWhen::after_turn, .forks = Forks::terminate}).took_effect());
  for (int i = 0; i < 10; ++i) life.runtime.poll();
  CHECK(ids(*life.tree) == std::vector<std::string>{"a1", "other", "other1"});
  CHECK(life.find("a1").status().value().stop_pending);
}
