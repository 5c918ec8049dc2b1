// The registry of what runs: slots are used again, each by one operation at a time.
#include "turn/operations.hpp"

#include "core/agent_table.hpp"
#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <map>
#include <new>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::turn;

namespace {

struct Board {
  detail::core::AgentTable table;
  detail::core::Node& a = table.insert(table.root_sentinel());
  detail::core::Node& b = table.insert(table.root_sentinel());
  Operations operations;

  OperationId open(detail::core::Node& node) {
    return operations.open(node, Operation::Kind::model_call, node.load().epoch(), 1);
  }
};

}  // namespace

TEST_CASE("a slot that was closed is used again, under another serial", "[operations][G13]") {
  Board board;
  const OperationId first = board.open(board.a);
  REQUIRE(board.operations.find(first) == &board.operations[first]);
  board.operations.close(first);
  CHECK(board.operations.find(first) == nullptr);
  for (int i = 0; i < 1000; ++i) {
    const OperationId again = board.open(board.b);
    CHECK(again.slot == first.slot);
    CHECK(board.operations.find(first) == nullptr);  // the serial of the old call finds nothing
    board.operations.close(again);
  }
  CHECK(board.operations.slots() == 1);
  CHECK(board.operations.open_count() == 0);
}

TEST_CASE("once the tree is closed, an operation is registered but not found", "[operations][G7]") {
  Board board;
  const OperationId id = board.open(board.a);
  const StopToken token = board.operations[id].stop.get_token();
  board.operations.shut_down();
  CHECK(token.stop_requested());
  CHECK(board.operations.find(id) == nullptr);
  CHECK(board.operations.open_count() == 1);
  board.operations.close(id);
  CHECK(board.operations.open_count() == 0);
}

TEST_CASE("closing an operation never allocates", "[operations][G13]") {
  Board board;
  std::vector<OperationId> ids;
  for (int i = 0; i < 1000; ++i) ids.push_back(board.open(board.a));
  const std::size_t before = test::allocations();
  for (const OperationId id : ids) board.operations.close(id);
  CHECK(test::allocations() == before);
  CHECK(board.operations.open_count() == 0);
}

TEST_CASE("an operation that cannot be opened for a lack of memory leaves nothing behind",
          "[operations][G13]") {
  for (std::size_t n = 1; n < 10; ++n) {
    Board board;
    {
      const test::FailingAllocation failing(n);
      try {
        board.operations.close(board.open(board.a));
      } catch (const std::bad_alloc&) {
      }
      if (!failing.failed()) break;
    }
    CHECK(board.a.operations == 0);
    CHECK(board.a.newest_operation == 0);
    CHECK(board.operations.open_count() == 0);
    board.operations.close(board.open(board.a));
  }
}

TEST_CASE("an agent's operations are listed newest first, whichever were closed",
          "[turn][operations][I1][I2]") {
  prop("after any sequence of begins and ends an agent has exactly the operations that are open", [] {
    detail::core::AgentTable table;
    Operations operations;
    std::map<detail::core::Node*, std::vector<OperationId>> open;  // oldest first
    detail::core::Node* const nodes[] = {&table.insert(table.root_sentinel()),
                                         &table.insert(table.root_sentinel())};
    for (int left = *rc::gen::inRange(0, 60); left > 0; --left) {
      detail::core::Node* const node = nodes[*rc::gen::inRange(0, 2)];
      std::vector<OperationId>& own = open[node];
      if (own.empty() || *rc::gen::arbitrary<bool>()) {
        own.push_back(operations.open(*node, Operation::Kind::tool_call, 0, 1));
      } else {
        const auto which = own.begin() + *rc::gen::inRange(0, static_cast<int>(own.size()));
        operations.close(*which);
        own.erase(which);
      }
      for (detail::core::Node* const each : nodes) {
        std::vector<OperationId> listed;
        operations.for_each(*each, [&](const Operation& operation) { listed.push_back(operation.id); });
        std::reverse(listed.begin(), listed.end());
        RC_ASSERT(listed == open[each]);
        RC_ASSERT(each->operations == listed.size());
      }
      RC_ASSERT(operations.open_count() == open[nodes[0]].size() + open[nodes[1]].size());
    }
  });
}
