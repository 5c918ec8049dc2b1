// What the functions of a tree say once its Runtime was destroyed.
#include "support/catch.hpp"
#include "support/drive/tree_fixture.hpp"

#include <agentcore/agentcore.hpp>

#include <map>
#include <string>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Said = std::map<std::string, Errc>;

template <typename T>
Errc code_of(const Result<T>& result) {
  return result ? Errc::none : result.error().code;
}

// By the name of each function that any thread may call: the reason that it returns.
Said ask_anywhere(AgentTree& tree, const Agent& agent) {
  return {
      {"send", agent.send("x").reason},
      {"send message", agent.send({.text = "x"}).reason},
      {"simulate", agent.simulate("x").reason},
      {"steer", agent.steer("x").reason},
      {"abort", agent.abort().reason},
      {"interrupt", agent.interrupt().reason},
      {"interrupt of a subtree", agent.interrupt({.scope = Scope::subtree}).reason},
      {"interrupt of a message", agent.interrupt({.message = MessageId{1}}).reason},
      {"release_queue", agent.release_queue().reason},
      {"pause", agent.pause().reason},
      {"unpause", agent.unpause().reason},
      {"renew", agent.renew().reason},
      {"stop", agent.stop().reason},
      {"stop for later", agent.stop({.when = StopWhen::after_turn}).reason},
      {"stop of descendants", agent.stop({.scope = Scope::descendants}).reason},
      {"resume", agent.resume().reason},
      {"terminate", agent.terminate().reason},
      {"cancel_call", agent.cancel_call("x").reason},
      {"complete_call", agent.complete_call("x", ToolResult::done("y")).reason},
      {"queue_length", code_of(agent.queue_length())},
      {"state", code_of(agent.state())},
      {"status", code_of(agent.status())},
      {"find of nobody", tree.find("nobody").error().code},
      {"find without id", tree.find("").error().code},
      {"stop_all", tree.stop_all().reason},
      {"resume_all", tree.resume_all().reason},
      {"pause_all", tree.pause_all().reason},
      {"unpause_all", tree.unpause_all().reason},
  };
}

Said ask_on_loop_thread(AgentTree& tree, const Agent& agent) {
  TerminateScope scope(agent), root_scope(tree);
  return {
      {"create", tree.create().error().code},
      {"create shared", tree.create(std::make_shared<const AgentSpec>()).error().code},
      {"create_child", agent.create_child().error().code},
      {"scope create", scope.create().error().code},
      {"root scope create", root_scope.create().error().code},
      {"parent", agent.parent().error().code},
      {"children", code_of(agent.children())},
      {"conversation", code_of(agent.conversation())},
      {"context", code_of(agent.context())},
      {"spent", code_of(agent.spent())},
      {"queued", code_of(agent.queued())},
      {"edit_queued", agent.edit_queued(MessageId{1}, {.text = "x"}).code()},
      {"remove_queued", agent.remove_queued(MessageId{1}).code()},
      {"drop_queue", code_of(agent.drop_queue())},
      {"cancel_task", tree.cancel_task("t_1").reason},
      {"answer", tree.answer("q_1", "yes").code()},
      {"decline", tree.decline("q_1").code()},
  };
}

Said all_gone(const Said& said) {
  Said expected = said;
  for (auto& [name, reason] : expected) reason = Errc::runtime_gone;
  return expected;
}

}  // namespace

TEST_CASE("every refusal after the end of the Runtime says runtime_gone", "[tree][Q3][G12]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const Agent child = t.child(agent, "b");
  t.ask(agent);
  const bool in_callback = GENERATE(true, false);
  if (in_callback) {
    t.runtime->post([&] {
      t.runtime.reset();
      const Said said = ask_anywhere(*t.tree, child);
      CHECK(said == all_gone(said));
    });
    t.poll();
  }
  t.runtime.reset();
  for (const Agent& any : {agent, child}) {
    const Said here = ask_anywhere(*t.tree, any);
    CHECK(here == all_gone(here));
    const Said loop = ask_on_loop_thread(*t.tree, any);
    CHECK(loop == all_gone(loop));
    Said there;
    std::thread([&] { there = ask_anywhere(*t.tree, any); }).join();
    CHECK(there == all_gone(there));
  }
  CHECK_FALSE(agent.exists());
  CHECK(agent.grant({.turns = 1}).code() == Errc::runtime_gone);
  CHECK(agent.grant({.turns = 1}, Scope::subtree).code() == Errc::runtime_gone);
  CHECK(t.tree->cancel_task("t_1").reason == Errc::runtime_gone);
  CHECK(agent.state().error().message == "the Runtime of this tree was destroyed");
}

TEST_CASE("after the end of the Runtime only ids can be read", "[tree][Q3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  t.llm->answer("a", "hi");
  t.settle();
  t.runtime.reset();
  REQUIRE_FALSE(agent.conversation());
  CHECK(agent.conversation().error().code == Errc::runtime_gone);
  CHECK(agent.queue_length().error().code == Errc::runtime_gone);
  CHECK(agent.children().error().code == Errc::runtime_gone);
  CHECK(agent.spent().error().code == Errc::runtime_gone);
  CHECK(agent.id() == "a");
  REQUIRE(t.tree->find("a"));
  CHECK(*t.tree->find("a") == agent);
}

TEST_CASE("a handle that outlives tree and Runtime returns runtime_gone", "[tree][Q3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const bool tree_first = GENERATE(true, false);
  if (tree_first) t.tree.reset();
  if (tree_first) CHECK(agent.send("x").reason == Errc::agent_not_found);
  t.seen.unwatch();
  t.runtime.reset();
  CHECK(agent.send("x").reason == Errc::runtime_gone);
  t.tree.reset();
  CHECK(agent.send("x").reason == Errc::runtime_gone);
  CHECK(agent.state().error().code == Errc::runtime_gone);
  CHECK(Agent{}.send("x").reason == Errc::agent_not_found);
}
