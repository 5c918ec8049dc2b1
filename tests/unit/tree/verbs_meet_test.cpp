// Verbs that meet others in one branch of the tree, before the loop has come to the first of them.
#include "support/drive/tree_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;
using std::chrono::seconds;

TEST_CASE("the report of a delete is complete even if its calls end before the loop takes it up",
          "[tree][X13][X32]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  std::string order;
  CHECK(parent.stop({.on_settled = [&](const StopReport& r) { order += "stopped " + joined(r.descendants); }})
            .took_effect());
  t.settle();
  const auto deleted = [&](const StopReport& r) { order += ", deleted " + joined(r.descendants); };
  CHECK(parent.terminate({.on_settled = deleted}).took_effect());
  t.llm->answer("child", "late");  // no poll in between
  CHECK(child.exists());
  t.settle();
  CHECK_FALSE(parent.exists());
  CHECK(order == "stopped child, deleted child");
}

TEST_CASE("an agent below a delete never reports a later stop", "[tree][B13][B19][X13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.terminate().took_effect());
  CHECK(root.stop().took_effect());
  CHECK(leaf.state().value() == AgentState::terminating);
  CHECK(root.state().value() == AgentState::stopping);
  t.settle();
  CHECK_FALSE(leaf.exists());
  CHECK(root.state().value() == AgentState::stopped);
  CHECK(t.seen.count("settled leaf stopped") == 0);
  CHECK(t.seen.count("settled leaf terminating") == 1);
}

TEST_CASE("a delete waits for a stop of an ancestor that is settling below it", "[tree][X13][B13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(root.stop().took_effect());
  CHECK(leaf.state().value() == AgentState::stopping);
  CHECK(child.terminate().took_effect());
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
  CHECK(child.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(child.stop().took_effect());
  CHECK(root.terminate().took_effect());
  CHECK(leaf.state().value() == AgentState::stopping);
  t.settle();
  CHECK(t.seen.violations.empty());
  CHECK(t.seen.count("settled leaf stopped") == 1);
  CHECK(t.seen.count("settled leaf terminating") == 1);
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a delete of an agent that stops alone leaves its subtree to the stop", "[tree][X13][B13]") {
  TreeFixture t;
  const Agent root = t.root("root");
  const Agent child = t.child(root, "child");
  const Agent leaf = t.child(child, "leaf");
  CHECK(child.stop({.scope = Scope::agent}).took_effect());
  CHECK(child.terminate().took_effect());
  CHECK(leaf.state().value() == AgentState::stopping);
  CHECK(root.terminate().took_effect());
  CHECK(leaf.state().value() == AgentState::stopping);
  t.settle();
  CHECK(t.seen.violations.empty());
  CHECK(t.seen.count("settled leaf stopped") == 1);
  CHECK(t.seen.count("settled leaf terminating") == 1);
  CHECK(t.tree->size() == 0);
}

TEST_CASE("a stop of the parent alone does not undo the resume of its children", "[tree][X4][X28]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(parent.resume().took_effect());
  CHECK(parent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(parent.state().value() == AgentState::stopped);
  CHECK(child.state().value() == AgentState::idle);
  CHECK(t.seen.violations.empty());
}
