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
    CHECK(document["agents"] == wanted["agents"]);
    CHECK(document["specs"].size() == wanted["specs"].size());
  }
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
