// The registry of what runs: slots are used again, each by one flight at a time.
#include "turn/flights.hpp"

#include "core/agent_table.hpp"
#include "support/catch.hpp"
#include "support/counted_heap.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <vector>

using namespace agentcore;
using namespace agentcore::turn;

namespace {

struct Board {
  core::AgentTable table;
  core::Node& a = table.insert(table.trunk());
  core::Node& b = table.insert(table.trunk());
  Flights flights;

  std::uint32_t open(core::Node& node) {
    return flights.open(node, Flight::Kind::model_call, node.load().epoch(), 1);
  }
};

}  // namespace

TEST_CASE("a slot that was closed is used again, under another serial", "[flights][G13]") {
  Board board;
  const std::uint32_t first = board.open(board.a);
  const std::uint64_t serial = board.flights[first].serial;
  REQUIRE(board.flights.find(first, serial) == &board.flights[first]);
  board.flights.close(first);
  CHECK(board.flights.find(first, serial) == nullptr);
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t slot = board.open(board.b);
    CHECK(slot == first);
    CHECK(board.flights.find(slot, serial) == nullptr);  // the serial of the old call finds nothing
    board.flights.close(slot);
  }
  CHECK(board.flights.slots() == 1);
  CHECK(board.flights.open_count() == 0);
}

TEST_CASE("closing a flight never allocates", "[flights][G13]") {
  Board board;
  std::vector<std::uint32_t> slots;
  for (int i = 0; i < 1000; ++i) slots.push_back(board.open(board.a));
  const std::size_t before = test::allocations();
  for (const std::uint32_t slot : slots) board.flights.close(slot);
  CHECK(test::allocations() == before);
  CHECK(board.flights.open_count() == 0);
}

TEST_CASE("a flight that cannot be opened for a lack of memory leaves nothing behind", "[flights][G13]") {
  for (std::size_t n = 1; n < 10; ++n) {
    Board board;
    {
      const test::FailingAllocation failing(n);
      try {
        board.flights.close(board.open(board.a));
      } catch (const std::bad_alloc&) {
      }
      if (!failing.failed()) break;
    }
    CHECK(board.a.flights == 0);
    CHECK(board.a.flight == 0);
    CHECK(board.flights.open_count() == 0);
    board.flights.close(board.open(board.a));
  }
}

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
