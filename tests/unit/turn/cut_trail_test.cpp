// What a CutTrail counts as accepted behind a closed gate: no correct turn engine lets it count anything.
#include "turn/cut_trail.hpp"

#include "core/agent_table.hpp"
#include "core/transitions.hpp"
#include "loop/engine.hpp"
#include "support/catch.hpp"

#include <agentcore/runtime.hpp>

using namespace agentcore;
using namespace agentcore::detail;
using agentcore::detail::turn::CutTrail;

namespace {

struct Trail {
  Runtime runtime;
  core::AgentTable table;
  core::Node& node = table.insert(table.root_sentinel());
  core::Node& other = table.insert(table.root_sentinel());
  CutTrail trail{*loop::engine_of(runtime)};

  void close() {
    core::PackedState packed = node.load();
    REQUIRE(node.replace(packed, core::after_stop(packed, true).value()));
  }
  std::size_t accepted() const {
    const auto* const cuts = trail.find(node.id());
    return cuts ? cuts->after_gate : 0;
  }
};

}  // namespace

TEST_CASE("what is accepted of a delivery behind a closed gate is counted", "[audit][G1]") {
  Trail t;
  t.close();
  {
    const CutTrail::Delivery delivery(t.trail, t.node);
    t.trail.note_accepted(t.other);
    CHECK(t.accepted() == 0);
    t.trail.note_accepted(t.node);
    t.trail.note_accepted(t.node);
  }
  CHECK(t.accepted() == 2);
  t.trail.note_accepted(t.node);  // of no delivery
  CHECK(t.accepted() == 2);
}

TEST_CASE("a delivery that began before the gate was closed is not counted", "[audit][G1]") {
  Trail t;
  const CutTrail::Delivery delivery(t.trail, t.node);
  t.close();
  t.trail.note_accepted(t.node);
  CHECK(t.accepted() == 0);
  {
    const CutTrail::Delivery inner(t.trail, t.node);
    t.trail.note_accepted(t.node);
  }
  t.trail.note_accepted(t.node);  // of the first one again
  CHECK(t.accepted() == 1);
}

TEST_CASE("a late result of an open agent is no matter of a stop", "[audit]") {
  Trail t;
  t.trail.note_discarded(t.node, 3);
  CHECK(t.trail.find(t.node.id()) == nullptr);
  t.close();
  t.trail.note_discarded(t.node, 3);
  REQUIRE(t.trail.find(t.node.id()));
  CHECK(t.trail.find(t.node.id())->discarded_deltas == 3);
  t.trail.remove(t.node.id());
  CHECK(t.trail.find(t.node.id()) == nullptr);
}

TEST_CASE("a record of several agents is complete if that of each agent is", "[audit]") {
  using agentcore::detail::turn::AgentCuts;
  const AgentCuts all;
  AgentCuts some;
  some.complete = false;
  for (const bool first : {true, false}) {
    StopRecord record;
    CutTrail::append(first ? some : all, "a", record);
    CutTrail::append(first ? all : some, "b", record);
    CHECK_FALSE(record.complete);
  }
}
