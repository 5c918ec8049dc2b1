// Scope: each function has some of the scopes, and refuses the others without any effect.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/checkpoint.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

bool is_refused(const VerbResult& result) {
  return result.status == VerbStatus::refused && result.reason == Errc::invalid_config;
}

}  // namespace

TEST_CASE("a verb with a scope that it does not have is refused, and changes nothing", "[tree][scope][C20]") {
  TreeFixture t;
  const Agent parent = t.root("parent"), child = t.child(parent, "child");
  bool reported = false;
  const auto report = [&](const StopReport&) { reported = true; };

  CHECK(is_refused(parent.stop({.scope = Scope::with_forks, .on_settled = report})));
  CHECK(is_refused(t.tree->stop_all({.scope = Scope::with_forks, .on_settled = report})));
  CHECK(is_refused(t.tree->stop_all({.scope = Scope::agent, .on_settled = report})));
  CHECK(is_refused(parent.terminate({.on_settled = report, .scope = Scope::agent})));
  CHECK(is_refused(parent.terminate({.on_settled = report, .scope = Scope::descendants})));
  CHECK(is_refused(parent.interrupt({.scope = Scope::descendants, .queue = QueueAction::hold})));
  CHECK(is_refused(parent.interrupt({.scope = Scope::with_forks, .queue = QueueAction::hold})));
  t.settle();
  CHECK(t.state("parent") == AgentState::idle);
  CHECK(t.state("child") == AgentState::idle);
  CHECK_FALSE(parent.status().value().queue_held);
  CHECK_FALSE(reported);

  REQUIRE(parent.stop().took_effect());
  t.settle();
  CHECK(is_refused(parent.resume({.scope = Scope::descendants})));
  CHECK(is_refused(parent.resume({.scope = Scope::with_forks})));
  CHECK(is_refused(t.tree->resume_all({.scope = Scope::descendants})));
  t.settle();
  CHECK(t.state("parent") == AgentState::stopped);
  CHECK(t.state("child") == AgentState::stopped);

  for (const Scope scope : {Scope::descendants, Scope::with_forks}) {
    CHECK(parent.spent(scope).code() == Errc::invalid_config);
    const Result<void> granted = parent.grant({.turns = 0}, scope);
    REQUIRE_FALSE(granted);
    CHECK(granted.error().code == Errc::invalid_config);
    CHECK(granted.error().message == "the scope of a budget is agent or subtree");
    const Result<std::string> exported = export_agents(parent, {.scope = scope});
    REQUIRE_FALSE(exported);
    CHECK(exported.error().code == Errc::invalid_config);
    CHECK(exported.error().message == "ExportOptions::scope is neither agent nor subtree");
  }
}

TEST_CASE("an abort that would hold the mailbox is refused", "[tree][scope][C3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(is_refused(agent.abort({.queue = QueueAction::hold})));
  CHECK_FALSE(agent.status().value().queue_held);
}

TEST_CASE("each scope has its documented name", "[tree][scope]") {
  CHECK(to_string(Scope::agent) == "agent");
  CHECK(to_string(Scope::subtree) == "subtree");
  CHECK(to_string(Scope::descendants) == "descendants");
  CHECK(to_string(Scope::with_forks) == "with_forks");
}
