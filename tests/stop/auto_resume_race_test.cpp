// Senders that race each other to an agent which a message resumes.
#include "support/catch.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("every send to a stopped agent that resumes by itself is accepted", "[stop][race][G12][X4]") {
  constexpr int rounds = 3000;
  Runtime runtime;
  AgentTree tree(runtime);
  Audit audit(tree);
  Team team(3);
  AgentSpec spec;
  spec.auto_resume = true;
  spec.handler = [](const Agent&, const Message&) {};
  const Agent agent = *tree.create(spec);
  std::atomic<int> refused{0};
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(agent.stop().took_effect());
    REQUIRE(drive(runtime, tree) == "");
    REQUIRE(*agent.state() == AgentState::stopped);
    team.run([&](int) { refused += !agent.send("x").accepted(); }, [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree) == "");
  }
  CHECK(refused == 0);
  CHECK(audit.turns_started == std::size_t{3} * rounds);
  CHECK(audit.dropped == 0);
  CHECK(audit.problem == "");
}
