// agentcore-store export: the document that export_agents() would make.
#include "integration/store_program/team.hpp"
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_program.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <string>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::ProgramRun;
using agentcore::test::run_store_program;
using agentcore::test::StoreFolder;
using agentcore::test::Team;
using nlohmann::json;

namespace {

json exported(const StoreFolder& folder, const std::string& agent) {
  const ProgramRun run = run_store_program({"export", folder.file(), agent});
  INFO(run.err);
  REQUIRE(run.code == 0);
  return json::parse(run.out);
}

}  // namespace

TEST_CASE("export writes the document that export_agents() makes", "[store_program][export]") {
  const StoreFolder folder;
  Team team(folder.file());
  for (const char* const id : {"planner", "helper", "writer", "voice", "thinker"}) {
    CAPTURE(id);
    const json document = exported(folder, id);
    const json wanted = json::parse(export_agents(team.life().find(id)).value());
    CHECK(document.dump() == wanted.dump());
  }
}

TEST_CASE("export knows what is above the agent, and what is pending", "[store_program][export]") {
  const StoreFolder folder;
  Team team(folder.file());
  AgentTree& tree = *team.life().tree;
  const Agent top = team.life().create("top");
  const Agent middle = top.create_child({.id = "middle"}).value();
  for (const char* const id : {"low", "leaf", "going"}) REQUIRE(middle.create_child({.id = id}));
  const Agent low = team.life().find("low");
  REQUIRE(low.create_child({.id = "lower"}));
  const Agent person = middle.create_child({.id = "person", .role = AgentRole::user}).value();
  REQUIRE(person.create_child({.id = "aide"}));
  const auto busy = [&](const char* id) {  // so that what is deferred stays pending
    team.life().llm.enqueue({.silent = true});
    REQUIRE(team.life().find(id).send("Work."));
  };
  const int above = GENERATE(range(0, 6));
  if (above == 1) REQUIRE(top.pause().took_effect());
  if (above == 2) static_cast<void>(top.interrupt({.scope = Scope::subtree, .queue = QueueAction::hold}));
  if (above == 3) REQUIRE(tree.pause_all().took_effect());
  if (above == 0 || above == 4) {
    busy("going");
    busy("low");
  }
  for (int i = 0; i < 12; ++i) team.life().runtime.poll();
  if (above == 0) REQUIRE(low.stop({.scope = Scope::agent, .when = StopWhen::after_turn}).took_effect());
  if (above == 4) REQUIRE(top.stop({.when = StopWhen::after_turn}).took_effect());
  if (above == 5) REQUIRE(low.stop({.scope = Scope::agent}).took_effect());
  if (above == 5) REQUIRE(top.stop().took_effect());
  if (above == 0) REQUIRE(team.life().find("going").terminate({.when = StopWhen::after_turn}).took_effect());
  for (int i = 0; i < 12; ++i) team.life().runtime.poll();
  REQUIRE(tree.flush());
  for (const char* const id : {"top", "middle", "low", "leaf", "lower", "person"}) {
    CAPTURE(above, id);
    const json document = exported(folder, id);
    CHECK(document.dump() == json::parse(export_agents(team.life().find(id)).value()).dump());
    const json& first = document["agents"][0]["agent"];
    CHECK(first.value("paused", false) == (above == 1 || above == 3));
    CHECK(first.value("held", false) == (above == 2));
    CHECK(first.contains("gate") == (above > 3 || (above == 0 && id == std::string("low"))));
  }
  if (above != 0) return;
  CHECK(export_agents(team.life().find("going")).error().code == Errc::agent_terminating);
  CHECK(run_store_program({"export", folder.file(), "going"}).code == 2);
}

TEST_CASE("what export writes can be imported", "[store_program][export]") {
  const StoreFolder folder;
  Team team(folder.file());
  const json document = exported(folder, "planner");
  Runtime runtime;
  testing::ScriptedClient llm(runtime);
  AgentTree tree(runtime, {.llm = &llm});
  const Result<ImportReport> report = import_agents(tree, document.dump());
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report);
  CHECK(report->agents.size() == 3);
  CHECK(report->agents[0].conversation().value() == team.life().find("planner").conversation().value());
}

TEST_CASE("export of an agent that is not there says where to look", "[store_program][export]") {
  const StoreFolder folder;
  Team team(folder.file());
  const ProgramRun run = run_store_program({"export", folder.file(), "nobody"});
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.find("there is no agent 'nobody'") != std::string::npos);
}
