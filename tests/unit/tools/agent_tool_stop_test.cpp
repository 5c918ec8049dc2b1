// Agents as tools: what ends a call ends the turn of the child, and a deferred stop lets both end.
#include "support/drive/agent_calls.hpp"

#include <agentcore/testing/references.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using agentcore::testing::count_references;

namespace {

bool is_open(const AgentCalls& t, const Agent& agent) {
  return static_cast<bool>(t.llm->find(agent.id()));
}

}  // namespace

TEST_CASE("what ends the call ends its child at once", "[tools][agent_tool][stop][G1][G5][G9]") {
  AgentToolOptions work;
  work.tool.timeout = 30s;
  AgentCalls t({}, std::move(work));
  AgentSpec spec;
  spec.limits.turn_timeout = 60s;
  t.begin({call_of("work", "x", "c1"), call_of("named", "y", "c2")}, spec);
  const Agent child = t.child(0);
  const StopToken stop = t.llm->find(child.id())->stop;
  const auto is_gone = [&] {
    CHECK(stop.stop_requested());
    t.settle();
    CHECK_FALSE(child.exists());
  };
  SECTION("an interrupt of the parent's turn") {
    CHECK(t.planner.interrupt().took_effect());
    CHECK(child.state().value() == AgentState::terminating);
    is_gone();
    CHECK(t.result->outcome == TurnOutcome::interrupted);
    CHECK(t["helper"].state().value() == AgentState::idle);
    CHECK_FALSE(is_open(t, t["helper"]));
  }
  SECTION("a cancel of the call") {
    CHECK(t.planner.cancel_call("c1").took_effect());
    is_gone();
    CHECK(is_open(t, t["helper"]));
    t.answer(t["helper"], "y");
    t.answer(t.planner, "done");
    CHECK(t.record(0).outcome == ToolOutcome::interrupted);
    CHECK(t.record(1).message == "y");
  }
  SECTION("a result of the host") {
    CHECK(t.planner.complete_call("c1", ToolResult::done("by hand")).took_effect());
    is_gone();
    t.answer(t["helper"], "y");
    t.answer(t.planner, "done");
    CHECK(t.record(0).message == "by hand");
  }
  SECTION("the time-out of the call") {
    t.advance(31s);
    is_gone();
    t.answer(t["helper"], "y");
    t.answer(t.planner, "done");
    CHECK(t.record(0).message.starts_with("timed out after"));
  }
  SECTION("the deadline of the parent's turn") {
    CHECK(t.planner.complete_call("c1", ToolResult::done("by hand")).took_effect());
    t.advance(61s);
    is_gone();
    CHECK(t.result->error.code == Errc::deadline_exceeded);
    CHECK_FALSE(is_open(t, t["helper"]));
  }
  SECTION("a stop of the parent alone") {
    CHECK(t.planner.stop({.scope = Scope::agent}).took_effect());
    is_gone();
    CHECK(t["helper"].state().value() == AgentState::idle);
    CHECK_FALSE(is_open(t, t["helper"]));
  }
  SECTION("a stop of the parent") {
    CHECK(t.planner.stop().took_effect());
    is_gone();
    CHECK(t["helper"].state().value() == AgentState::stopped);
  }
  SECTION("a delete of the parent") {
    CHECK(t.planner.terminate().took_effect());
    is_gone();
    CHECK(t.tree->size() == 0);
  }
  CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("a named child loses only the turn or the message of the call that ends",
          "[tools][agent_tool][stop]") {
  AgentCalls t;
  t.begin({call_of("named", "one", "c1"), call_of("named", "two", "c2"), call_of("named", "three", "c3")});
  const Agent helper = t["helper"];
  CHECK(t.planner.cancel_call("c2").took_effect());
  t.settle();
  CHECK(helper.queue_length().value() == 1);
  CHECK(t.planner.cancel_call("c1").took_effect());
  t.settle();
  CHECK(written(helper.conversation().value()) == "user:one!interrupted, user:three");
  t.answer(helper, "third");
  t.answer(t.planner, "done");
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK(t.record(1).outcome == ToolOutcome::not_started);
  CHECK(t.record(2).message == "third");
}

TEST_CASE("a call that is over before its child has its message leaves nothing",
          "[tools][agent_tool][stop][G2]") {
  AgentCalls t;
  std::function<void()> end;
  const Subscription created = t.tree->on<AgentCreated>([&](const AgentCreated&) {
    if (end) end();
  });
  const Agent planner = t.root("planner", {.tools = t.tools});
  t.planner = planner;
  SECTION("interrupted") {
    end = [&] { CHECK(planner.interrupt().took_effect()); };
  }
  SECTION("cancelled") {
    end = [&] { CHECK(planner.cancel_call("c1").took_effect()); };
  }
  SECTION("stopped") {
    end = [&] { CHECK(planner.stop().took_effect()); };
  }
  SECTION("deleted") {
    end = [&] { CHECK(planner.terminate().took_effect()); };
  }
  SECTION("the child is deleted") {
    end = [&] { CHECK(planner.children().value().at(0).terminate().took_effect()); };
  }
  SECTION("the tree is destroyed") {
    end = [&] {
      t.seen.unwatch();
      t.tree.reset();
    };
  }
  t.ask(planner);
  t.llm->call_tools("planner", {call_of("work", "x", "c1")});
  t.settle();
  CHECK(planner.children().value_or(std::vector<Agent>()).empty());
  if (t.tree) CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("the tree may be destroyed in each callback of a call", "[tools][agent_tool][stop][G16]") {
  AgentCalls t;
  t.begin({call_of("work", "x", "c1"), call_of("named", "y", "c2"), call_of("named", "z", "c3")});
  const Agent child = t.child(0);
  const auto destroy = [&](const auto&) {
    t.seen.unwatch();
    t.tree.reset();
  };
  Subscription on_event;
  SECTION("at progress") {
    on_event = t.tree->on<ToolProgress>(destroy);
  }
  SECTION("at the end of the child's turn") {
    on_event = t.tree->on<TurnEnded>(destroy);
  }
  SECTION("at the delete of the child") {
    on_event = t.tree->on<AgentDeleted>(destroy);
  }
  SECTION("at the result") {
    on_event = t.tree->on<ToolEnded>(destroy);
  }
  SECTION("in the middle") {
    destroy(0);
  }
  if (t.tree) t.answer(child, "x");
  CHECK_FALSE(t.tree);
  t.settle();
  CHECK(t.llm->open_calls().empty());
}

TEST_CASE("a stop at the top and an interrupt in the middle end a tree of calls whole",
          "[tools][agent_tool][stop][G1][G4]") {
  AgentCalls t;
  auto below = std::make_shared<ToolRegistry>();
  below->add(make_agent_tool({.tool = {.name = "work"}}));
  below->add(make_agent_tool({.tool = {.name = "named"}, .agent = {.id = "leaf"}}));
  AgentToolOptions middle{.tool = {.name = "middle"}, .agent = {.id = "middle"}};
  middle.agent.tools = below;
  middle.agent.limits.parallel_tools = 2;
  t.tools->add(make_agent_tool(middle));
  t.begin({call_of("middle", "x", "c1")});
  t.llm->call_tools("middle", {call_of("work", "a"), call_of("named", "b")});
  t.settle();
  CHECK(t.llm->open_calls().size() == 2);
  SECTION("a stop of the root") {
    CHECK(t.planner.stop().took_effect());
    t.settle();
    CHECK(t["leaf"].state().value() == AgentState::stopped);
  }
  SECTION("an interrupt of the root") {
    CHECK(t.planner.interrupt().took_effect());
    t.settle();
    CHECK(t["leaf"].state().value() == AgentState::idle);
  }
  SECTION("an interrupt of the middle by a person") {
    CHECK(t["middle"].interrupt().took_effect());
    t.settle();
    CHECK(t.told() == "error: the agent was interrupted, and did not finish");
    t.answer(t.planner, "done");
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
  SECTION("a cancel of the call of the middle") {
    CHECK(t.planner.cancel_call("c1").took_effect());
    t.settle();
    t.answer(t.planner, "done");
  }
  CHECK(t.llm->open_calls().empty());
  CHECK(t["middle"].children().value().size() == 1);
  CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("a pause of the parent pauses its child", "[tools][agent_tool][pause]") {
  AgentCalls t;
  t.begin({call_of("named", "one"), call_of("named", "two")});
  const Agent helper = t["helper"];
  CHECK(t.planner.pause().took_effect());
  t.settle();
  t.answer(helper, "first");
  CHECK_FALSE(is_open(t, helper));
  CHECK(t.planner.unpause().took_effect());
  t.settle();
  t.answer(helper, "second");
  CHECK(t.told() == "second");
}

TEST_CASE("a deferred stop of the parent lets the turns of its calls begin and end",
          "[tools][agent_tool][stop][later]") {
  const StopWhen when = GENERATE(StopWhen::after_step, StopWhen::after_turn);
  CAPTURE(to_string(when));
  AgentToolOptions work;
  auto below = std::make_shared<ToolRegistry>();
  below->add(make_agent_tool({.tool = {.name = "leaf"}}));
  work.agent.tools = below;
  AgentCalls t({}, std::move(work));
  AgentSpec spec;
  spec.limits.parallel_tools = 2;
  t.begin({call_of("work", "x"), call_of("named", "y"), call_of("named", "z")}, spec);
  const Agent child = t.child(0);
  const Agent helper = t["helper"];
  CHECK(helper.send("of the host"));
  CHECK(t.planner.stop({.when = when}).took_effect());
  t.settle();
  CHECK(child.send("more").reason == Errc::agent_stopping);
  // A step with a call of its own, whose child is new, and another step.
  t.llm->call_tools(child.id(), {call_of("leaf", "deep")});
  t.settle();
  const Agent leaf = child.children().value().at(0);
  CHECK(is_open(t, leaf));
  t.answer(leaf, "leaf");
  CHECK(is_open(t, child));
  t.answer(child, "x");
  // The third call begins now; its message goes before that of the host.
  t.answer(helper, "y");
  CHECK(written(helper.conversation().value()) == "user:y, assistant:y, user:z");
  CHECK(t.planner.state().value() != AgentState::stopped);
  t.answer(helper, "z");
  if (when == StopWhen::after_turn) t.answer(t.planner, "done");
  CHECK(t.planner.state().value() == AgentState::stopped);
  CHECK(helper.state().value() == AgentState::stopped);
  CHECK(written(helper.conversation().value()) == "user:y, assistant:y, user:z, assistant:z");
  CHECK(t.record(0).message == "x");
  CHECK(t.record(1).message == "y");
  CHECK(t.record(2).message == "z");
  CHECK_FALSE(child.exists());
  CHECK(count_references(*t.tree, "-") == 0);
}

TEST_CASE("a call fails where a deferred stop and a turn of its child would wait for each other",
          "[tools][agent_tool][stop][later]") {
  AgentCalls t;
  const bool waits = GENERATE(true, false);  // the message of the call, when the turn of the child parks
  const Agent planner =
      t.root("planner", {.tools = t.tools, .limits = {.parallel_tools = std::uint16_t(waits ? 2 : 1)}});
  t.planner = planner;
  const Agent helper = t.child(planner, "helper", {.tools = t.tools});
  t.ask(helper, "of the host");
  t.again({call_of("work", "x"), call_of("named", "y")});
  const Agent child = t.child(1);
  CHECK(helper.queue_length().value() == (waits ? 1 : 0));
  CHECK(planner.stop({.when = StopWhen::after_step}).took_effect());
  t.settle();
  t.llm->call_tools("helper", {call_of("none", "a step that is not the last")});
  t.settle();
  CHECK_FALSE(is_open(t, helper));
  CHECK(helper.queue_length().value() == 0);
  CHECK(planner.state().value() != AgentState::stopped);
  t.answer(child, "x");
  CHECK(planner.state().value() == AgentState::stopped);
  CHECK(t.record(0).message == "x");
  CHECK(t.record(1).message == "the agent was stopped, and did not begin");
}

TEST_CASE("a deferred stop of the child itself ends the calls that it does not let begin",
          "[tools][agent_tool][stop][later]") {
  AgentCalls t;
  t.begin({call_of("named", "one"), call_of("named", "two")});
  const Agent helper = t["helper"];
  CHECK(helper.stop({.when = StopWhen::after_turn}).took_effect());
  t.settle();
  t.answer(helper, "first");
  CHECK(helper.state().value() == AgentState::stopped);
  t.answer(t.planner, "done");
  CHECK(t.record(0).message == "first");
  CHECK(t.record(1).message == "the agent was stopped, and did not begin");
}

TEST_CASE("the turn that follows a delegated message which was withdrawn is no part of a call",
          "[tools][agent_tool][later]") {
  AgentCalls t;
  const bool withdrawn = GENERATE(false, true);
  t.begin({call_of("named", "one")});
  const Agent helper = t.child();
  t.answer(helper, "done");
  t.answer(t.planner, "well");
  auto noop = std::make_shared<ToolRegistry>();
  noop->add(make_tool({.name = "noop"},
                      [](const nlohmann::json&, const ToolContext&) { return ToolResult::done("ok"); }));
  CHECK(helper.set_tools(noop));
  if (withdrawn) {
    t.ask(helper, "of its own");
    t.again({call_of("named", "two")});  // waits behind that
    t.runtime->post([&] {
      std::thread([&] { CHECK(t.planner.interrupt().took_effect()); }).join();
      t.llm->answer("helper", "done");  // and the loop has not read the interrupt
    });
    t.settle();
    CHECK(helper.state().value() == AgentState::idle);
  }
  t.ask(helper, "another of its own");
  CHECK(t.planner.stop({.when = StopWhen::after_step}).took_effect());
  t.settle();
  t.llm->call_tools("helper", {{.id = "n", .name = "noop"}});
  t.settle();
  CHECK_FALSE(t.llm->find("helper"));  // its next step is withheld
  CHECK(t.state("planner") == AgentState::stopped);
  CHECK(t.state("helper") == AgentState::stopped);
}
