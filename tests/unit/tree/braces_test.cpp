// Lists in braces as arguments: each must name one function, for g++ as for clang++.
#include "support/catch.hpp"
#include "support/drive/tree_fixture.hpp"

#include <agentcore/agentcore.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a message may be given as text or as a list in braces", "[tree]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  std::string text = "lvalue";
  CHECK(agent.send("literal"));
  CHECK(agent.send(text));
  CHECK(agent.send(std::string_view("view")));
  CHECK(agent.send(std::string("moved")));
  CHECK(agent.send({.text = "x"}));
  CHECK(agent.send({.text = "x", .sender = "me"}));
  CHECK(agent.send({.text = text + "!", .sender = text}));
  CHECK(agent.send({"x", "me"}));
  CHECK(agent.send(Message{.text = "x"}));
  CHECK(t["a"].send("literal"));
  CHECK(t["a"].send(text));
  CHECK(t["a"].send({.text = "x"}));
  CHECK(t["a"].send({.text = "x", .sender = "me"}));
  static_cast<void>(agent.send({}));
  static_cast<void>(t["a"].send({}));
  CHECK(text == "lvalue");
  CHECK(agent.queue_length().value() >= 13);
}

TEST_CASE("a spec may be given by value or shared or as a list in braces", "[tree]") {
  TreeFixture t;
  const Agent root = *t.tree->create({});
  CHECK(t.tree->create({.id = "a"}));
  CHECK(t.tree->create({.system_prompt = "you"}));
  CHECK(t.tree->create(AgentSpec{}));
  CHECK(t.tree->create(std::make_shared<AgentSpec>()));
  CHECK(t.tree->create(std::make_shared<const AgentSpec>()));
  const SharedAgentSpec shared = std::make_shared<AgentSpec>();
  CHECK(t.tree->create(shared));
  CHECK(t.tree->create(nullptr).error().code == Errc::invalid_config);
  CHECK(root.create_child({}));
  CHECK(root.create_child({.id = "b"}));
  CHECK(root.create_child(shared));
  CHECK(root.create_child(std::make_shared<AgentSpec>()));
  TerminateScope scope(root);
  CHECK(scope.create({}));
  CHECK(scope.create({.id = "c"}));
}

TEST_CASE("options may be given as empty braces", "[tree]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.stop({}).accepted());
  t.settle();
  CHECK(agent.resume({}).accepted());
  CHECK(agent.abort({}).accepted());
  CHECK(agent.grant({}));
  CHECK(t.tree->stop_all({}).accepted());
  CHECK(t["a"].terminate({}).accepted());
  CHECK(agent.terminate({.reason = "x"}).accepted());
  Agent handle = agent;
  handle = {};
  CHECK(handle == Agent{});
  Timer timer = t.runtime->call_after(std::chrono::hours(1), [] {});
  timer = {};
  Subscription subscription = t.tree->on_event([](const Event&) {});
  subscription = {};
}
