// Records of stops on real threads: nothing is accepted behind a gate, and no stop is without its record.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/team.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/stop_audit.hpp>

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

struct RaceAudit final : StopAudit {
  void record(const StopRecord& record) override {
    ++records;
    after_gate += record.after_gate;
    cut += record.operations.size();
    const bool in_order = record.closed && record.called.monotonic <= record.closed->monotonic &&
                          record.closed->monotonic <= record.settled.monotonic;
    in_disorder += !in_order || !record.complete;
    for (const CutOperation& operation : record.operations)
      in_disorder += operation.cut && *operation.cut > record.settled.monotonic;
  }
  std::size_t records = 0;
  std::size_t after_gate = 0;
  std::size_t cut = 0;
  std::size_t in_disorder = 0;
};

}  // namespace

TEST_CASE("in a race of stops and answers each stop has its record and nothing comes after the gate",
          "[stop][race][audit][G1][G7]") {
  FakeClient client;
  Runtime runtime;
  RaceAudit audit;
  AgentTree tree(runtime, {.llm = &client, .audit = &audit});
  Team team(2);
  std::atomic<std::size_t> effects{0};
  for (int round = 0; round < 2000; ++round) {
    const Agent top = tree.create().value(), leaf = top.create_child().value();
    CHECK(top.send("question").accepted());
    CHECK(leaf.send("question").accepted());
    runtime.poll();
    Dice dice(static_cast<std::uint64_t>(round));
    team.run(
        [&](int member) {
          const VerbResult result = member == 0 ? top.stop() : leaf.terminate();
          if (result.took_effect()) ++effects;
        },
        [&] {
          for (FakeClient::Call* const call : client.open_calls()) {
            if (dice.below(2) == 0) call->sink.delta("word ");
            if (dice.below(4) == 0) FakeClient::complete(*call);
          }
          runtime.poll();
        });
    CHECK(drive(runtime, tree, client) == "");
    static_cast<void>(top.terminate());
    ++effects;
    CHECK(drive(runtime, tree, client) == "");
  }
  CHECK(audit.records == effects);
  CHECK(audit.after_gate == 0);
  CHECK(audit.in_disorder == 0);
  CHECK(audit.cut > 100);
}
