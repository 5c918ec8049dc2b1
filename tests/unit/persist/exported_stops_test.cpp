// The stops and deletes of agents in their document, also before they have settled.
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/checkpoint.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

using namespace agentcore;

namespace {

struct Family {
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm{runtime};
  AgentTree tree{runtime, {.llm = &llm}};
  Agent boss = tree.create({.id = "boss"}).value();
  Agent child = boss.create_child({.id = "child"}).value();
};

}  // namespace

TEST_CASE("a resume of an imported agent opens no agent that had a stop of its own",
          "[checkpoint][export][stop][G3]") {
  Family family;
  bool is_settled = false;
  SECTION("its stop has settled") {
    is_settled = true;
  }
  SECTION("its stop has not settled") {
  }
  REQUIRE(family.boss.stop().took_effect());
  if (is_settled) family.runtime.run_until_idle();
  REQUIRE(family.child.stop().status == VerbStatus::no_effect);
  const std::string document = export_agents(family.boss).value();
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const ImportReport made = import_agents(tree, document).value();
  runtime.run_until_idle();
  REQUIRE(made.agents.at(0).resume().took_effect());
  runtime.run_until_idle();
  CHECK(made.agents.at(0).state().value() == AgentState::idle);
  CHECK(made.agents.at(1).state().value() == AgentState::stopped);
}

TEST_CASE("an agent that a stop above is closing has no stop of its own in a document, nor in a store",
          "[checkpoint][export][stop][G3][G14]") {
  MemoryStore store;
  RuntimeOptions slow;
  slow.poll_budget = Duration(0);
  Runtime runtime(slow);
  testing::ScriptedClient llm(runtime);
  std::optional<AgentTree> tree(std::in_place, runtime, TreeOptions{.llm = &llm});
  REQUIRE(tree->restore(&store));
  const Agent boss = tree->create({.id = "boss"}).value();
  const Agent child = boss.create_child({.id = "child"}).value();
  REQUIRE(tree->flush());
  bool is_closing = false;
  const Subscription events = tree->on_event([&](const Event& event) {
    if (event.get<StateChanged>() != nullptr && event.agent() == child) is_closing = true;
  });
  REQUIRE(boss.stop().took_effect());
  while (!is_closing) runtime.poll();
  REQUIRE(child.state().value() == AgentState::stopping);

  Runtime other{test::unhurried()};
  AgentTree next(other);
  SECTION("a document") {
    REQUIRE(import_agents(next, export_agents(boss).value()));
  }
  SECTION("a store") {
    REQUIRE(child.pause().took_effect());  // its record is written
    REQUIRE(tree->flush());
    tree.reset();
    REQUIRE(next.restore(&store));
    REQUIRE(next.find("child").value().unpause().took_effect());
  }
  other.run_until_idle();
  REQUIRE(next.find("child").value().state().value() == AgentState::stopped);
  REQUIRE(next.find("boss").value().resume().took_effect());
  other.run_until_idle();
  CHECK(next.find("child").value().state().value() == AgentState::idle);
}

TEST_CASE("an agent whose delete waits for its stop is in no document", "[checkpoint][export][stop]") {
  Family family;
  REQUIRE(family.child.stop().took_effect());
  REQUIRE(family.child.terminate().accepted());
  REQUIRE(family.child.state().value() == AgentState::stopping);
  const auto refused = export_agents(family.child);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::agent_terminating);
  const std::string document = export_agents(family.boss).value();
  CHECK(nlohmann::json::parse(document).at("agents").size() == 1);
  Runtime runtime{test::unhurried()};
  AgentTree tree(runtime);
  CHECK(import_agents(tree, document));
}

TEST_CASE("an agent whose lease has run out is stopped in its document", "[checkpoint][export][stop][G3]") {
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock});
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Agent boss = tree.create({.id = "boss"}).value();
  REQUIRE(boss.create_child({.id = "child", .limits = {.lease = std::chrono::minutes(1)}}));
  clock.advance(std::chrono::minutes(1));  // no poll has noticed it
  const std::string document = export_agents(boss).value();
  Runtime other{test::unhurried()};
  AgentTree imported(other);
  const ImportReport made = import_agents(imported, document).value();
  CHECK(made.agents.at(0).state().value() == AgentState::idle);
  CHECK(made.agents.at(1).state().value() == AgentState::stopping);
}

TEST_CASE("what is stopped below a person is stopped in the document of the person",
          "[checkpoint][export][stop][G3]") {
  const bool roles = GENERATE(true, false);
  Runtime runtime{test::unhurried()};
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Agent person = tree.create({.id = "person", .role = AgentRole::user}).value();
  const Agent helper = person.create_child({.id = "helper"}).value();
  REQUIRE(helper.create_child({.id = "below"}));
  SECTION("it has settled") {
    REQUIRE(tree.stop_all().took_effect());
    runtime.run_until_idle();
  }
  SECTION("it has not settled") {
    REQUIRE(tree.stop_all().took_effect());
  }
  SECTION("it is deferred") {
    REQUIRE(tree.stop_all({.when = StopWhen::after_turn}).took_effect());
  }
  const std::string document = export_agents(person).value();
  Runtime other{test::unhurried()};
  AgentTree imported(other);
  const ImportReport made = import_agents(imported, document, {.roles = roles}).value();
  CHECK(can_process(made.agents.at(0).state().value()) == roles);  // a person is not stopped
  CHECK_FALSE(can_process(made.agents.at(1).state().value()));
  CHECK_FALSE(can_process(made.agents.at(2).state().value()));
  other.run_until_idle();
  // Without the role the stop is that of the first agent.
  REQUIRE(made.agents.at(roles ? 1 : 0).resume().took_effect());
  other.run_until_idle();
  CHECK(made.agents.at(1).state().value() == AgentState::idle);
}
