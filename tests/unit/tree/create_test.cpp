// Making agents, finding them, and what outlives what.
#include "support/drive/tree_fixture.hpp"

#include <agentcore/testing/references.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <stdexcept>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a new agent is idle and ready", "[tree][B2]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(agent.id() == "a");
  CHECK(agent.exists());
  CHECK(t.seen.lines == std::vector<std::string>{"created a"});
  CHECK(agent.send("x").accepted());
}

TEST_CASE("invalid agent ids are refused", "[tree]") {
  TreeFixture t;
  const auto code = [&](std::string id) { return t.tree->create({.id = std::move(id)}).error().code; };
  t.root("a");
  CHECK(code("a") == Errc::agent_exists);
  CHECK(code("@1") == Errc::invalid_agent_id);
  CHECK(code("\xff") == Errc::invalid_agent_id);
  CHECK(code(std::string(256, 'x')) == Errc::invalid_agent_id);
  CHECK(t.tree->size() == 1);
  t.root(std::string(255, 'x'));
}

TEST_CASE("an id is taken until its agent is deleted", "[tree][X33][D4]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.terminate().took_effect());
  CHECK(t.tree->create({.id = "a"}).error().code == Errc::agent_exists);
  CHECK(t.tree->find("a").has_value());
  CHECK(t.state("a") == AgentState::terminating);
  std::optional<Errc> inside;
  const auto hook = t.tree->on_event([&](const Event& event) {
    if (event.get<AgentDeleted>()) inside = t.tree->create({.id = "a"}).error().code;
  });
  t.llm->answer("a", "late");
  t.settle();
  CHECK(inside == Errc::agent_exists);
  CHECK_FALSE(t.tree->find("a"));
  CHECK(testing::count_references(*t.tree, "a") == 0);
  const Agent again = t.root("a");
  CHECK(again != agent);
  CHECK_FALSE(agent.exists());
  CHECK(agent.send("x").reason == Errc::agent_not_found);
}

TEST_CASE("an agent in the place of a deleted one inherits nothing", "[tree][D4][G13]") {
  TreeFixture t;
  const Agent old = t.root("", {.system_prompt = "old", .limits = {.budget = {.tokens = 1000}}});
  const std::string place = old.id().substr(0, old.id().find('.'));
  t.ask(old, "secret");
  t.llm->answer(old.id(), "answer");
  t.settle();
  CHECK(old.spent().value().turns == 1);
  CHECK(old.send("waiting").accepted());
  CHECK(old.terminate().took_effect());
  t.settle();
  const Agent fresh = t.root("");
  REQUIRE(fresh.id().substr(0, fresh.id().find('.')) == place);
  CHECK(fresh.conversation().value().empty());
  CHECK(fresh.context().value().empty());
  CHECK(fresh.queue_length().value() == 0);
  CHECK(fresh.spent().value().turns == 0);
  CHECK(fresh.spent().value().tokens == 0);
  t.seen.clear();
  t.ask(fresh, "hello");
  CHECK(t.seen.count("started " + fresh.id() + " 1") == 1);
  REQUIRE(t.llm->find(fresh.id()));
  CHECK(written(t.llm->find(fresh.id())->request.messages) == "user:hello");
}

TEST_CASE("generated ids find their agents", "[tree]") {
  TreeFixture t;
  const Agent a = t.tree->create().value();
  const Agent b = a.create_child().value();
  CHECK(a.id() != b.id());
  CHECK(a.id().front() == '@');
  CHECK(t[a.id()] == a);
  CHECK(t[b.id()] == b);
  const std::string gone = b.id();
  CHECK(testing::count_references(*t.tree, gone) > 0);
  CHECK(b.terminate().accepted());
  t.settle();
  CHECK(testing::count_references(*t.tree, gone) == 0);
  const Agent c = a.create_child().value();
  CHECK(c.id() != gone);
  CHECK(t.tree->find(gone).error().code == Errc::agent_not_found);
}

TEST_CASE("depth and number of agents have limits", "[tree][G15]") {
  TreeOptions options;
  options.max_depth = 3;
  options.max_agents = 5;
  TreeFixture t(options);
  const Agent a = t.root("a");
  const Agent b = t.child(a, "b");
  const Agent c = t.child(b, "c");
  CHECK(c.create_child().error().code == Errc::depth_limit);
  t.child(b, "d");
  t.child(b, "e");
  CHECK(t.tree->create().error().code == Errc::agent_limit);
  CHECK(c.terminate().accepted());
  t.settle();
  CHECK(t.tree->create().has_value());
}

TEST_CASE("options out of range are refused", "[tree]") {
  Runtime runtime;
  const auto with = [&](auto change) {
    TreeOptions options;
    change(options);
    AgentTree tree(runtime, options);
  };
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.max_depth = 0; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.max_depth = 251; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.max_agents = 0; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.mailbox_limit = 0; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.mailbox_limit = 65'001; }), std::invalid_argument);
  CHECK_THROWS_AS(with([](TreeOptions& o) { o.stop_grace = Duration(-1); }), std::invalid_argument);
  CHECK_NOTHROW(with([](TreeOptions& o) { o.max_depth = 250; }));
}

TEST_CASE("specs can be shared and invalid ones are refused", "[tree]") {
  TreeFixture t;
  auto spec = std::make_shared<AgentSpec>();
  spec->system_prompt = "shared";
  const Agent a = t.tree->create(SharedAgentSpec(spec)).value();
  const Agent b = a.create_child(SharedAgentSpec(spec)).value();
  CHECK(written(b.conversation().value()) == "system:shared");
  CHECK(t.tree->create(SharedAgentSpec()).error().code == Errc::invalid_config);
  CHECK(t.tree->create({.limits = {.mailbox = 65'001}}).error().code == Errc::invalid_config);
}

TEST_CASE("no agent is created below a closed gate", "[tree][C10][E6][G2]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  CHECK(parent.stop().took_effect());
  CHECK(child.create_child().error().code == Errc::agent_stopping);
  CHECK(parent.create_child().error().code == Errc::agent_stopping);
  t.settle();
  CHECK(child.create_child().error().code == Errc::agent_stopping);
  t.llm->answer("child", "late");
  t.settle();
  CHECK(child.create_child().error().code == Errc::agent_stopped);
  CHECK(parent.terminate().took_effect());
  CHECK(child.create_child().error().code == Errc::agent_terminating);
  t.settle();
  CHECK(child.create_child().error().code == Errc::agent_not_found);
  CHECK(t.seen.count("created") == 2);
}

TEST_CASE("an agent returns its parent and children and depth", "[tree]") {
  TreeFixture t;
  const Agent a = t.root("a");
  const Agent b = t.root("b");
  const Agent aa = t.child(a, "aa");
  const Agent ab = t.child(a, "ab");
  const Agent aaa = t.child(aa, "aaa");
  CHECK(t.tree->roots() == std::vector<Agent>{b, a});
  CHECK(a.children().value() == std::vector<Agent>{ab, aa});
  CHECK(aaa.parent().value() == aa);
  CHECK(a.parent().error().code == Errc::agent_not_found);
  std::vector<std::string> walked;
  t.tree->walk([&](const Agent& agent) { walked.push_back(agent.id()); });
  CHECK(joined(walked) == "b a ab aa aaa");
  CHECK(t.tree->size() == 5);
  CHECK(std::hash<Agent>{}(a) == std::hash<Agent>{}(t["a"]));
}

TEST_CASE("unknown and missing ids are told apart", "[tree][B14][A11][A12][C18][D12]") {
  TreeFixture t;
  AgentTree& tree = *t.tree;
  for (const auto& [id, reason] :
       {std::pair{"", Errc::missing_agent_id}, std::pair{"nobody", Errc::agent_not_found}}) {
    const Result<Agent> found = tree.find(id);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == reason);
  }
  t.settle();
  CHECK(t.seen.lines.empty());
}

TEST_CASE("every function of a handle without an agent returns agent_not_found", "[tree][handles]") {
  const Agent nobody;
  CHECK(nobody.id().empty());
  CHECK_FALSE(nobody.exists());
  CHECK(nobody.state().error().code == Errc::agent_not_found);
  CHECK(nobody.send("x").reason == Errc::agent_not_found);
  CHECK(nobody.abort().reason == Errc::agent_not_found);
  CHECK(nobody.stop().reason == Errc::agent_not_found);
  CHECK(nobody.resume().reason == Errc::agent_not_found);
  CHECK(nobody.terminate().reason == Errc::agent_not_found);
  CHECK(nobody.create_child().error().code == Errc::agent_not_found);
  CHECK(nobody.create_child(std::make_shared<const AgentSpec>()).error().code == Errc::agent_not_found);
  CHECK(nobody.parent().error().code == Errc::agent_not_found);
  CHECK(nobody.children().error().code == Errc::agent_not_found);
  CHECK(nobody.queue_length().error().code == Errc::agent_not_found);
  CHECK(nobody.drop_queue().error().code == Errc::agent_not_found);
  CHECK(nobody.conversation().error().code == Errc::agent_not_found);
  CHECK(nobody.context().error().code == Errc::agent_not_found);
  CHECK(nobody.spent().error().code == Errc::agent_not_found);
  CHECK(nobody.spent(Scope::subtree).error().code == Errc::agent_not_found);
  CHECK(nobody == Agent{});
}

TEST_CASE("handles and subscriptions may outlive the tree and the Runtime", "[tree][handles][G3]") {
  Agent agent;
  Subscription states;
  Subscription events;
  TerminateScope scope{Agent{}};
  {
    TreeFixture t;
    agent = t.root("a");
    scope = TerminateScope(*t.tree);
    CHECK(scope.create({.id = "b"}).has_value());
    states = t.tree->on<StateChanged>([](const StateChanged&) {});
    events = t.tree->on_event([](const Event&) {});
    t.ask(agent);
    CHECK(agent.send("waiting").accepted());
    CHECK(agent.stop().took_effect());
  }
  CHECK(agent.id().empty());
  CHECK(agent.state().error().code == Errc::runtime_gone);
  CHECK(agent.send("x").reason == Errc::runtime_gone);
  CHECK(agent.stop().reason == Errc::runtime_gone);
  CHECK(agent.terminate().reason == Errc::runtime_gone);
  CHECK(agent.create_child().error().code == Errc::runtime_gone);
  CHECK(agent.conversation().error().code == Errc::runtime_gone);
  scope.close();
}

TEST_CASE("the Runtime may be destroyed before the tree", "[tree][Q3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  t.runtime.reset();
  CHECK_FALSE(agent.exists());
  CHECK(agent.stop().reason == Errc::runtime_gone);
  CHECK(agent.terminate().reason == Errc::runtime_gone);
  t.tree.reset();
  CHECK_FALSE(agent.exists());
}

TEST_CASE("two trees with generated ids may share a client", "[tree][A3]") {
  Runtime runtime;
  testing::ScriptedClient llm(runtime);
  AgentTree one(runtime, {.llm = &llm}), two(runtime, {.llm = &llm});
  const Agent first = one.create().value(), second = two.create().value();
  CHECK(first.id() != second.id());
  CHECK((first.send("a") && second.send("b")));
  REQUIRE(runtime.run_until_idle());
  CHECK(written(first.conversation().value()) == "user:a, assistant:a");
  CHECK(written(second.conversation().value()) == "user:b, assistant:b");
}

TEST_CASE("outcomes during the destruction of the Runtime are not delivered", "[tree][G7]") {
  // Its sink goes with the Runtime's timers, and so its call ends without an outcome.
  std::unique_ptr<Runtime> runtime = std::make_unique<Runtime>();
  Timer timer;
  FakeClient llm([&](FakeClient&, FakeClient::Call& call) {
    timer = runtime->call_after(std::chrono::hours(1),
                                [held = std::make_shared<ChatSink>(std::move(call.sink))] {});
  });
  AgentTree tree(*runtime, {.llm = &llm});
  int told = 0;
  const auto first = tree.on_event([&](const Event& event) { told += event.get<TurnEnded>() != nullptr; });
  const auto second = tree.on_event([&](const Event& event) { told += event.get<TurnEnded>() != nullptr; });
  CHECK(tree.create()->send("a"));
  runtime->poll();
  CHECK(tree.busy());
  runtime.reset();
  CHECK(told == 0);
  CHECK_FALSE(tree.busy());
}

TEST_CASE("a visitor that throws ends the walk and a visitor cannot drive the loop", "[tree][G16][Q3]") {
  TreeFixture t;
  for (const char* id : {"a", "b", "c"}) t.root(id);
  int visited = 0;
  t.tree->walk([&](const Agent& agent) {
    ++visited;
    CHECK(agent.terminate().took_effect());
    CHECK_FALSE(t.runtime->poll());
    CHECK(agent.exists());
    if (visited == 2) throw std::runtime_error("enough");
  });
  CHECK(visited == 2);
  CHECK(t.logged("enough"));
  t.settle();
  CHECK(t.tree->size() == 1);
}
