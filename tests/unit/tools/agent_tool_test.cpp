// Agents as tools: what a call does, and the result that the calling model reads.
#include "support/drive/agent_calls.hpp"
#include "support/store/life.hpp"

#include <agentcore/memory_store.hpp>
#include <agentcore/testing/references.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using agentcore::testing::count_references;

TEST_CASE("a call of an agent tool is the turn of a new child, and its answer is the result",
          "[tools][agent_tool]") {
  AgentCalls t;
  t.begin({call_of("work", "find beaches", "c1")});
  const Agent child = t.child();
  CHECK(child.parent().value() == t.planner);
  CHECK(written(child.conversation().value()) == "system:You work., user:find beaches");
  CHECK(t.llm->find(child.id())->request.messages.size() == 2);
  t.llm->delta(child.id(), "Porto ");
  t.answer(child, "Santo");
  CHECK(t.seen.with("progress planner c1") ==
        std::vector<std::string>{"progress planner c1 Porto ", "progress planner c1 Santo"});
  CHECK(t.told() == "Porto Santo");
  CHECK_FALSE(child.exists());
  t.answer(t.planner, "done");
  CHECK(t.record().outcome == ToolOutcome::completed);
  CHECK(t.record().success);
  CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("parallel calls of an agent tool run side by side, each with a child of its own",
          "[tools][agent_tool]") {
  AgentCalls t;
  t.begin({call_of("work", "one"), call_of("work", "two"), call_of("work", "three")});
  CHECK(t.children().size() == 3);
  CHECK(t.llm->open_calls().size() == 3);
  t.answer(t.child(1), "second");
  t.answer(t.child(0), "first");
  t.answer(t.child(0), "third");
  CHECK(t.children().empty());
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "first");
  CHECK(t.record(1).message == "second");
  CHECK(t.record(2).message == "third");
}

TEST_CASE("a child with a name serves the calls in their order and remembers them", "[tools][agent_tool]") {
  AgentCalls t;
  t.begin({call_of("named", "one"), call_of("named", "two")});
  const Agent helper = t["helper"];
  CHECK(helper.parent().value() == t.planner);
  REQUIRE(helper.queued().value().size() == 1);
  CHECK(helper.queued().value()[0].message.sender == "planner");
  t.answer(helper, "first");
  t.answer(helper, "second");
  CHECK(written(helper.conversation().value()) == "user:one, assistant:first, user:two, assistant:second");
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "first");
  CHECK(t.record(1).message == "second");
  t.again({call_of("named", "three")});
  CHECK(t["helper"] == helper);
  t.answer(helper, "third");
  CHECK(t.told() == "third");
}

TEST_CASE("the message to the child is written from the arguments of the call", "[tools][agent_tool]") {
  AgentToolOptions work;
  SECTION("by the function of the host") {
    work.write_message = [](const nlohmann::json& arguments) {
      if (arguments.at("message") == "bad") throw std::runtime_error("no such city");
      return "Work: " + arguments.at("message").get<std::string>();
    };
    AgentCalls t({}, std::move(work));
    t.begin({call_of("work", "now"), call_of("work", "bad")});
    CHECK(written(t.child().conversation().value()) == "system:You work., user:Work: now");
    CHECK(t.children().size() == 1);
    t.answer(t.child(), "x");
    CHECK(t.told() == "error: the tool failed: no such city");
  }
  SECTION("as JSON, where the tool has parameters of its own") {
    work.tool.parameters = R"({"type":"object","properties":{"city":{"type":"string"}}})";
    AgentCalls t({}, std::move(work));
    t.begin({{.id = "c", .name = "work", .arguments = R"({"city":"Lima"})"}});
    CHECK(written(t.child().conversation().value()) == R"(system:You work., user:{"city":"Lima"})");
  }
  SECTION("the default has one argument") {
    AgentCalls t;
    t.begin({{.id = "c", .name = "work", .arguments = R"({"city":"Lima"})"}});
    CHECK(t.children().empty());
    CHECK(t.told().starts_with("error: "));
  }
}

TEST_CASE("an agent tool refuses agents that cannot work for a call", "[tools][agent_tool]") {
  AgentToolOptions options{.tool = {.name = "work"}};
  options.agent.handler = [](const Agent&, const Message&) {};
  CHECK_THROWS_AS(make_agent_tool(options), std::invalid_argument);
  options.agent.handler = nullptr;
  options.agent.role = AgentRole::system;
  CHECK_THROWS_AS(make_agent_tool(options), std::invalid_argument);
  options.agent.id = "kept";
  CHECK(make_agent_tool(options).spec.timeout == no_limit);
  options.tool.timeout = 5s;
  CHECK(make_agent_tool(options).spec.timeout == 5s);
}

TEST_CASE("a call whose child cannot be created or does not accept the message fails with the reason",
          "[tools][agent_tool][G12]") {
  SECTION("the tree is as deep as allowed") {
    AgentCalls t({.max_depth = 1});
    t.begin({call_of("work", "x")});
    CHECK(t.told() ==
          "error: the agent could not be created: the tree would become deeper than TreeOptions::max_depth "
          "(1)");
  }
  SECTION("the tree has as many agents as allowed") {
    AgentCalls t({.max_agents = 2});
    t.begin({call_of("work", "x"), call_of("work", "y")});
    t.answer(t.child(), "x");
    CHECK(t.told().starts_with("error: the agent could not be created: the tree has as many agents"));
  }
  SECTION("another agent has the name") {
    AgentCalls t;
    t.root("helper");
    t.begin({call_of("named", "x")});
    CHECK(t.told() == "error: the agent could not be created: an agent with the id 'helper' exists already");
  }
  SECTION("the child with the name is stopped") {
    AgentCalls t;
    t.begin({call_of("named", "x")});
    CHECK(t["helper"].stop().took_effect());
    t.settle();
    t.answer(t.planner, "done");
    t.again({call_of("named", "y")});
    CHECK(t.told() == "error: the agent does not accept the message: it is stopped");
  }
  SECTION("the mailbox is full") {
    AgentCalls t;
    t.tools->add(
        make_agent_tool({.tool = {.name = "narrow"}, .agent = {.id = "n", .limits = {.mailbox = 1}}}));
    t.begin({call_of("narrow", "x"), call_of("narrow", "y")});
    t.answer(t["n"], "x");
    CHECK(t.told() == "error: the agent does not accept the message: too many messages wait for it");
  }
  SECTION("the message is empty: the child is deleted again") {
    AgentCalls t;
    t.begin({call_of("work", " ")});
    CHECK(t.told() == "error: the agent does not accept the message: the message is empty");
    CHECK(t.children().empty());
    CHECK(count_references(*t.tree, "-") == 0);
  }
}

TEST_CASE("agents that call each other as tools end at the limit of the depth", "[tools][agent_tool]") {
  AgentCalls t({.max_depth = 3});
  auto nested = std::make_shared<ToolRegistry>();
  AgentToolOptions deeper{.tool = {.name = "deeper"}};
  deeper.agent.tools = nested;
  nested->add(make_agent_tool(deeper));
  t.tools->add(make_agent_tool(deeper));
  t.begin({call_of("deeper", "1")});
  const Agent one = t.child();
  t.llm->call_tools(one.id(), {call_of("deeper", "2")});
  t.settle();
  const Agent two = one.children().value().at(0);
  t.llm->call_tools(two.id(), {call_of("deeper", "3")});
  t.settle();
  CHECK(two.children().value().empty());
  CHECK(two.conversation().value().back().content().starts_with(
      "error: the agent could not be created: the tree"));
  t.answer(two, "too deep");
  t.answer(one, "still");
  CHECK(t.told() == "still");
  // The registry holds its own tool.
  nested->remove("deeper");
}

TEST_CASE("what a child uses counts once in the budgets above it and not in the usage of the parent's turn",
          "[tools][agent_tool][budget][G15]") {
  AgentCalls t;
  AgentSpec spec;
  spec.limits.budget.tokens = 1'000'000;
  spec.limits.subtree_budget.tokens = 1'000'000;
  t.begin({call_of("work", "x")}, spec);
  const auto end = [&](const Agent& agent, std::uint64_t tokens) {
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete);
    outcome.usage = {.prompt_tokens = tokens, .completion_tokens = 1, .complete = true};
    FakeClient::finish(*t.llm->find(agent.id()), std::move(outcome));
    t.settle();
  };
  const std::uint64_t before = t.planner.spent(Scope::subtree).value().tokens;
  const Agent child = t.child();
  t.llm->delta(child.id(), "x");
  end(child, 1000);
  const std::uint64_t own = t.planner.spent().value().tokens;
  CHECK(t.result.operator bool() == false);
  t.llm->delta("planner", "done");
  end(t.planner, 100);
  CHECK(t.planner.spent().value().tokens - own < 1000);
  CHECK(t.planner.spent(Scope::subtree).value().tokens - t.planner.spent().value().tokens == 1001);
  CHECK(before < 1000);
  CHECK(t.result->usage.prompt_tokens < 1000);
}

TEST_CASE("a call tells truly why its child did not finish", "[tools][agent_tool][G9][G10][G11]") {
  AgentCalls t;
  t.begin({call_of("work", "x")});
  const Agent child = t.child();
  SECTION("stopped") {
    CHECK(child.stop({.reason = "a secret of the host"}).took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was stopped, and did not finish");
  }
  SECTION("deleted") {
    CHECK(child.terminate({.reason = "a secret of the host"}).took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was deleted, and did not finish");
  }
  SECTION("interrupted") {
    CHECK(child.interrupt({.reason = "a secret of the host"}).took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was interrupted, and did not finish");
  }
  SECTION("aborted") {
    CHECK(child.abort().took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent's model call was aborted, and the agent did not finish");
  }
  SECTION("failed") {
    t.llm->fail(child.id(), Errc::network_error);
    t.settle();
    CHECK(t.told().starts_with("error: the agent failed: "));
  }
  SECTION("failed, and the client does not say why") {
    FakeClient::finish(*t.llm->find(child.id()), ChatOutcome::failed({.code = Errc::network_error}));
    t.settle();
    CHECK(t.told() == "error: the agent failed: LLM call failed");
  }
  CHECK_FALSE(child.exists());
  CHECK(t.planner.state().value() == AgentState::waiting_llm);
  CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("a call fails with the limit that its child has reached", "[tools][agent_tool][G15]") {
  AgentToolOptions work;
  SECTION("the deadline of the turn") {
    work.agent.limits.turn_timeout = 5s;
    AgentCalls t({}, std::move(work));
    t.begin({call_of("work", "x")});
    t.advance(6s);
    CHECK(t.told().starts_with("error: the agent did not finish in time: "));
    CHECK(t.children().empty());
  }
  SECTION("the budget") {
    work.agent.limits.budget.tokens = 1;
    AgentCalls t({}, std::move(work));
    t.begin({call_of("work", "a question of some words")});
    t.settle();
    CHECK(t.told().starts_with("error: the agent was stopped, and did not finish: a budget is used up"));
    CHECK(t.children().empty());
  }
}

TEST_CASE("a budget of the subtree that a child uses up stops the parent",
          "[tools][agent_tool][budget][G15]") {
  AgentCalls t;
  AgentSpec spec;
  spec.limits.subtree_budget.turns = 1;
  t.begin({call_of("work", "x")}, spec);
  t.settle();
  CHECK(t.planner.state().value() == AgentState::stopped);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(t.children().empty());
}

TEST_CASE("a message to a named child that never begins its turn fails its call",
          "[tools][agent_tool][G12]") {
  AgentCalls t;
  t.begin({call_of("named", "one"), call_of("named", "two")});
  const Agent helper = t["helper"];
  SECTION("cleared") {
    CHECK(helper.drop_queue().value() == 1);
    t.settle();
    t.answer(helper, "first");
    CHECK(t.told() == "error: the agent did not begin: its message was withdrawn");
  }
  SECTION("stopped") {
    CHECK(helper.stop().took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was stopped, and did not begin");
    CHECK(helper.exists());
  }
  SECTION("deleted") {
    CHECK(helper.terminate().took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was deleted, and did not begin");
  }
}

TEST_CASE("the requests of agents with names are cached apart, those of one tool's agents together",
          "[tools][agent_tool][context]") {
  TreeFixture t;
  const auto key_of = [&](const std::string& planner, AgentSpec child) {
    auto tools = std::make_shared<ToolRegistry>();
    tools->add(make_agent_tool({.tool = {.name = "ask"}, .agent = std::move(child)}));
    const Agent agent = t.root(planner, {.tools = tools});
    t.ask(agent);
    t.llm->call_tools(planner, {call_of("ask", "x")});
    t.settle();
    return t.llm->find(agent.children().value().at(0).id())->request.cache_key;
  };
  const std::string one = key_of("p1", {.id = "one"}), two = key_of("p2", {.id = "two"});
  CHECK(one != two);
  CHECK(key_of("p3", {}) == key_of("p4", {}));
  CHECK(key_of("p5", {.model = {.cache_key = "mine"}}) == "mine");
}

TEST_CASE("a named child that was deleted is not created again by a call", "[tools][agent_tool][G14]") {
  AgentCalls t;
  t.begin({call_of("named", "one")});
  t.answer(t["helper"], "first");
  CHECK(t["helper"].terminate().took_effect());
  t.settle();
  t.answer(t.planner, "done");
  for (int i = 0; i < 2; ++i) {
    t.again({call_of("named", "two")});
    CHECK(t.told() == "error: the agent 'helper' was deleted, and is not created again");
    CHECK(t.children().empty());
    t.answer(t.planner, "done");
    CHECK(t.record().outcome == ToolOutcome::not_started);
    CHECK_FALSE(t.record().success);
  }
  SECTION("the host creates one") {
    const Agent made = t.planner.create_child({.id = "helper", .system_prompt = "You are new."}).value();
    t.again({call_of("named", "three")});
    t.answer(made, "third");
    CHECK(t.told() == "third");
    CHECK(written(made.conversation().value()) == "system:You are new., user:three, assistant:third");
  }
  SECTION("it is the child of another agent now") {
    const Agent other = t.root("other");
    REQUIRE(other.create_child({.id = "helper"}));
    t.again({call_of("named", "three")});
    CHECK(t.told() == "error: the agent 'helper' was deleted, and is not created again");
  }
  SECTION("a fork of the parent has had no such child") {
    const Agent twin = t.planner.fork({.id = "twin"}).value();
    CHECK(t.planner.stop().took_effect());
    t.settle();
    CHECK(twin.send("again"));
    t.settle();
    t.llm->call_tools("twin", {call_of("named", "four")});
    t.settle();
    CHECK(t["helper"].parent().value() == twin);
  }
}

TEST_CASE("a named child that was deleted in the turn of its call is not created again by the next call",
          "[tools][agent_tool][G14]") {
  AgentCalls t;
  t.begin({call_of("named", "one")});
  CHECK(t["helper"].terminate().took_effect());
  t.settle();
  CHECK(t.told() == "error: the agent was deleted, and did not finish");
  t.llm->call_tools("planner", {call_of("named", "two")});
  t.settle();
  CHECK(t.told() == "error: the agent 'helper' was deleted, and is not created again");
  CHECK(t.children().empty());
}

TEST_CASE("a host may have a named child that was deleted created again", "[tools][agent_tool]") {
  AgentCalls t;
  t.tools->add(
      make_agent_tool({.tool = {.name = "fresh"}, .agent = {.id = "fresh one"}, .create_again = true}));
  t.begin({call_of("fresh", "one")});
  t.answer(t["fresh one"], "first");
  CHECK(t["fresh one"].terminate().took_effect());
  t.settle();
  t.answer(t.planner, "done");
  t.again({call_of("fresh", "two")});
  CHECK(written(t["fresh one"].conversation().value()) == "user:two");
}

TEST_CASE("a named child that could not be created may be created later", "[tools][agent_tool]") {
  AgentCalls t;
  const Agent other = t.root("helper");
  t.begin({call_of("named", "one")});
  CHECK(t.told().starts_with("error: the agent could not be created: "));
  CHECK(other.terminate().took_effect());
  t.settle();
  t.answer(t.planner, "done");
  t.again({call_of("named", "two")});
  CHECK(t["helper"].parent().value() == t.planner);
}

TEST_CASE("a named child that was deleted is not created again after a restart",
          "[tools][agent_tool][restore][G14]") {
  MemoryStore store;
  const auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_agent_tool({.tool = {.name = "named"}, .agent = {.id = "helper"}}));
  RestoreOptions options;
  options.code.add_tools("tools", tools);
  const auto poll = [](Life& life) {
    for (int i = 0; i < 20; ++i) life.runtime.poll();
  };
  const auto call = [&](Life& life, const Agent& planner, bool child_answers) {
    testing::ScriptedReply reply;
    reply.tool_calls = {call_of("named", "go")};
    life.llm.enqueue(reply);
    if (child_answers) life.llm.enqueue({.deltas = {"an answer"}});
    life.llm.enqueue({.deltas = {"so"}});
    REQUIRE(planner.send("go"));
    poll(life);
    const std::vector<ChatMessage> messages = planner.conversation().value();
    REQUIRE(messages.back().content() == "so");
    return messages[messages.size() - 2].content();
  };
  {
    Life life(store, options);
    AgentSpec spec;
    spec.code.tools = "tools";
    const Agent planner = life.create("planner", std::move(spec));
    CHECK(call(life, planner, true) == "an answer");
    CHECK(life.find("helper").terminate().took_effect());
    poll(life);
    REQUIRE(life.tree->flush());
  }
  for (int restart = 0; restart < 2; ++restart) {
    Life life(store, options);
    CHECK(call(life, life.find("planner"), false) ==
          "error: the agent 'helper' was deleted, and is not created again");
    CHECK_FALSE(life.tree->find("helper"));
    REQUIRE(life.tree->flush());
  }
}
