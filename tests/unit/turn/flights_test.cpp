// The registry of what runs: each agent's flights in order, closed in any order.
#include "turn/flights.hpp"

#include "core/agent_table.hpp"
#include "support/catch.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <map>
#include <vector>

using namespace agentcore;
using namespace agentcore::turn;

TEST_CASE("an agent's flights are listed newest first, whichever were closed", "[turn][flights][I1][I2]") {
  prop("after any sequence of begins and ends an agent has exactly the flights that are open", [] {
    core::AgentTable table;
    Flights flights;
    std::map<core::Node*, std::vector<std::uint32_t>> open;  // oldest first
    core::Node* const nodes[] = {&table.insert(table.trunk()), &table.insert(table.trunk())};
    for (int left = *rc::gen::inRange(0, 60); left > 0; --left) {
      core::Node* const node = nodes[*rc::gen::inRange(0, 2)];
      std::vector<std::uint32_t>& own = open[node];
      if (own.empty() || *rc::gen::arbitrary<bool>()) {
        own.push_back(flights.open(*node, Flight::Kind::tool_call, 0, 1));
      } else {
        const auto which = own.begin() + *rc::gen::inRange(0, static_cast<int>(own.size()));
        flights.close(*which);
        own.erase(which);
      }
      for (core::Node* const each : nodes) {
        std::vector<std::uint32_t> listed;
        flights.for_each(*each, [&](std::uint32_t slot) { listed.push_back(slot); });
        std::reverse(listed.begin(), listed.end());
        RC_ASSERT(listed == open[each]);
        RC_ASSERT(each->flights == listed.size());
      }
      RC_ASSERT(flights.open_count() == open[nodes[0]].size() + open[nodes[1]].size());
    }
  });
}
