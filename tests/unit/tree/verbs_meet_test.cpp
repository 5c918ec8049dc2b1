// Verbs that meet others in one branch of the tree, before the loop has come to the first of them.
#include "support/tree_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;
using std::chrono::seconds;

TEST_CASE("a delete's report is complete when what it waited for ends before the loop hears of the delete",
          "[tree][X13][X32]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  std::string order;
  CHECK(
      parent
          .stop({.on_settled = [&](const StopReport& r) { order += "stopped " + joined(r.cascade_stopped); }})
          .stopped);
  t.settle();
  const auto deleted = [&](const TerminateReport& r) {
    order += ", deleted " + joined(r.cascade_terminated);
  };
  CHECK(parent.terminate({.on_settled = deleted}).terminated);
  t.llm->answer("child", "late");  // no poll in between
  CHECK(child.exists());
  t.settle();
  CHECK_FALSE(parent.exists());
  CHECK(order == "stopped child, deleted child");
}

TEST_CASE("an open agent below a delete never shows a stop that came later", "[tree][B13][B19][X13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.terminate().terminated);
  CHECK(root.stop().stopped);
  CHECK(leaf.state().value() == AgentState::terminating);
  CHECK(root.state().value() == AgentState::stopping);
  t.settle();
  CHECK_FALSE(leaf.exists());
  CHECK(root.state().value() == AgentState::stopped);
  CHECK(t.seen.count("settled leaf stopped") == 0);
  CHECK(t.seen.count("settled leaf terminating") == 1);
}

TEST_CASE("a delete waits for a stop from above that runs below it", "[tree][X13][B13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.stop({.cascade = false}).stopped);
  t.settle();
  CHECK(root.stop().stopped);
  CHECK(leaf.state().value() == AgentState::stopping);
  CHECK(child.terminate().terminated);
  CHECK(leaf.state().value() == AgentState::stopping);
  t.settle();
  CHECK(t.seen.violations.empty());
  CHECK(t.seen.index("settled leaf stopped") < t.seen.index("settled leaf terminating"));
  CHECK(t.seen.count("settled root stopped") == 1);
  CHECK(t.tree->size() == 1);
}

TEST_CASE("a delete waits for a stop that was widened", "[tree][X13][B13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.stop({.cascade = false}).stopped);
  t.settle();
  CHECK(child.stop().stopped);
  CHECK(root.terminate().terminated);
  CHECK(leaf.state().value() == AgentState::stopping);
  t.settle();
  CHECK(t.seen.violations.empty());
  CHECK(t.seen.count("settled leaf stopped") == 1);
  CHECK(t.seen.count("settled leaf terminating") == 1);
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a delete of an agent that stops alone leaves what lies below to the stop", "[tree][X13][B13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.stop({.cascade = false}).stopped);
  CHECK(child.terminate().terminated);
  CHECK(leaf.state().value() == AgentState::stopping);
  CHECK(root.terminate().terminated);
  CHECK(leaf.state().value() == AgentState::stopping);
  t.settle();
  CHECK(t.seen.violations.empty());
  CHECK(t.seen.count("settled leaf stopped") == 1);
  CHECK(t.seen.count("settled leaf terminating") == 1);
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a stop of the parent alone does not take back the resume of its children", "[tree][X4][X28]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().stopped);
  t.settle();
  CHECK(parent.resume().resumed);
  CHECK(parent.stop({.cascade = false}).stopped);
  t.settle();
  CHECK(parent.state().value() == AgentState::stopped);
  CHECK(child.state().value() == AgentState::idle);
  CHECK(t.seen.violations.empty());
}
