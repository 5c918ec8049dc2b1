// A living agent gets another model, client, system prompt or tools.
#include "support/clients/fake_client.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/drive/tree_fixture.hpp"

#include <memory>
#include <string>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a model and a system prompt are changed from the next model call on", "[tree]") {
  TreeFixture t;
  const Agent agent =
      t.tree->create({.id = "a", .system_prompt = "Be brief.", .model = {.name = "small"}}).value();
  t.ask(agent, "one");
  CHECK(agent.set_model("large").has_value());
  CHECK(agent.set_system_prompt("Be exact.").has_value());
  CHECK(t.llm->call(0).request.model == "small");  // the call in flight is not affected
  t.llm->answer("a", "1");
  t.settle();
  t.ask(agent, "two");
  const ChatRequest& request = t.llm->call(1).request;
  CHECK(request.model == "large");
  CHECK(request.messages.at(0) == ChatMessage::system("Be exact."));
  CHECK(written(agent.conversation().value()) == "system:Be exact., user:one, assistant:1, user:two");
}

TEST_CASE("an empty system prompt removes that of a restored history", "[tree]") {
  TreeFixture t;
  AgentSpec spec;
  spec.id = "a";
  spec.history = {ChatMessage::system("Be brief."), ChatMessage::user("one"), ChatMessage::assistant("1")};
  const Agent agent = t.tree->create(std::move(spec)).value();
  CHECK(agent.set_model("large").has_value());  // any change keeps the prompt of the history
  CHECK(written(agent.conversation().value()) == "system:Be brief., user:one, assistant:1");
  CHECK(agent.set_system_prompt("").has_value());
  CHECK(written(agent.conversation().value()) == "user:one, assistant:1");
}

TEST_CASE("another client takes the next model call and null means that of the tree", "[tree]") {
  TreeFixture t;
  const auto other = std::make_shared<FakeClient>(*t.runtime);
  const Agent agent = t.root("a");
  CHECK(agent.set_llm(other).has_value());
  t.ask(agent, "one");
  CHECK(t.llm->calls() == 0);
  REQUIRE(other->calls() == 1);
  other->answer("a", "1");
  t.settle();
  CHECK(agent.set_llm(nullptr).has_value());
  CHECK(other.use_count() == 1);  // the agent released it
  t.ask(agent, "two");
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("other tools are offered in the next model call while a call goes on with its own", "[tree]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  const auto none = std::make_shared<ToolRegistry>();
  CHECK(agent.set_tools(none).has_value());
  t.held.calls.at(0).done(ToolResult::done("held"));
  t.settle();
  CHECK(t.llm->call(1).request.tools.empty());
  t.answer("done");
  CHECK(t.result->success());
  CHECK(t.result->calls.at(0).message == "held");
}

TEST_CASE("a change within a handler of the same agent keeps the running spec until it returns",
          "[tree][Q3]") {
  TreeFixture t;
  AgentSpec spec;
  spec.id = "a";
  std::string received;
  auto held = std::make_shared<std::string>("captured");
  spec.handler = [held, &received](const Agent& agent, const Message&) {
    CHECK(agent.set_model("x").has_value());
    CHECK(agent.set_system_prompt("y").has_value());
    received = *held;  // the closure is still there
  };
  const Agent agent = t.tree->create(std::move(spec)).value();
  CHECK(agent.send("go").accepted());
  t.settle();
  CHECK(received == "captured");
  CHECK(held.use_count() == 2);  // here and in the spec of the agent: replaced specs are destroyed
}

TEST_CASE("a change of an agent that is gone is refused with the reason", "[tree]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.terminate().took_effect());
  t.settle();
  const Result<void> gone = agent.set_model("large");
  CHECK(gone.code() == Errc::agent_not_found);
  CHECK_FALSE(gone.error().message.empty());
  CHECK(Agent().set_tools({}).code() == Errc::agent_not_found);
  const Agent other = t.root("b");
  t.runtime.reset();
  CHECK(other.set_model("large").code() == Errc::runtime_gone);
}
