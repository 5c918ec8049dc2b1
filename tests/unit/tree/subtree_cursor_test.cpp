// The positions of walks through a subtree.
#include "tree/subtree_cursor.hpp"

#include "support/catch.hpp"
#include "tree/control_queue.hpp"

#include <memory>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::tree;
using detail::core::AgentTable;
using detail::core::Node;

namespace {

// A root with the children 2 and 3, of which 2 has the children 4 and 5. New children come first.
struct Family {
  AgentTable table;
  Node& root = table.insert(table.root_sentinel());
  Node& two = table.insert(root);
  Node& three = table.insert(root);
  Node& four = table.insert(two);
  Node& five = table.insert(two);

  // Walks on with `cursor`; the slots in the order of the visits.
  std::vector<std::uint32_t> visits(ChildFirstCursor& cursor) {
    std::vector<std::uint32_t> visited;
    while (Node* at = cursor.at()) {
      if (cursor.is_before_children() && table.first_child(*at)) {
        cursor.descend(table);
        continue;
      }
      visited.push_back(at->index);
      cursor.advance(table);
    }
    return visited;
  }
  // The same for a cursor that visits parents before children.
  std::vector<std::uint32_t> visits(ParentFirstCursor& cursor) {
    std::vector<std::uint32_t> visited;
    while (Node* at = cursor.at()) {
      visited.push_back(at->index);
      cursor.advance(table, true);
    }
    return visited;
  }
};

}  // namespace

TEST_CASE("a cursor visits children before parents and ends at its root", "[tree]") {
  Family f;
  f.table.insert(f.table.root_sentinel());  // another root, which is not visited
  ChildFirstCursor cursor(f.root);
  CHECK(f.visits(cursor) ==
        std::vector{f.three.index, f.five.index, f.four.index, f.two.index, f.root.index});
  ChildFirstCursor below(f.two);
  CHECK(f.visits(below) == std::vector{f.five.index, f.four.index, f.two.index});
  CHECK(ChildFirstCursor().at() == nullptr);
}

TEST_CASE("a cursor that is split and its rest visit each agent once", "[tree]") {
  Family f;
  ChildFirstCursor first(f.root);
  first.descend(f.table);
  first.advance(f.table);  // past 3, at 2
  REQUIRE(first.at() == &f.two);
  ChildFirstCursor rest = first.split(f.table);
  CHECK(f.visits(first) == std::vector{f.five.index, f.four.index, f.two.index});
  CHECK(f.visits(rest) == std::vector{f.root.index});
}

TEST_CASE("a walk with parents first can leave out what lies below an agent", "[tree]") {
  Family f;
  std::vector<std::uint32_t> visited;
  for (Node* node = &f.root; node; node = next_parent_first(f.table, f.root, *node, true))
    visited.push_back(node->index);
  CHECK(visited == std::vector{f.root.index, f.three.index, f.two.index, f.five.index, f.four.index});
  CHECK(next_parent_first(f.table, f.root, f.two, false) == nullptr);
  CHECK(next_parent_first(f.table, f.two, f.five, true) == &f.four);
}

TEST_CASE("a cursor with parents first that is split and its rest visit each agent once", "[tree]") {
  Family f;
  f.table.insert(f.table.root_sentinel());  // another root, which is not visited
  ParentFirstCursor all(f.root);
  CHECK(f.visits(all) == std::vector{f.root.index, f.three.index, f.two.index, f.five.index, f.four.index});

  ParentFirstCursor at_root(f.root);
  CHECK(at_root.split(f.table).at() == nullptr);
  CHECK(f.visits(at_root) == std::vector{f.three.index, f.two.index, f.five.index, f.four.index});

  Node& six = f.table.insert(f.three);
  ParentFirstCursor first(f.root);
  first.advance(f.table, true);
  REQUIRE(first.at() == &f.three);
  ParentFirstCursor rest = first.split(f.table);
  CHECK(f.visits(first) == std::vector{six.index});
  CHECK(f.visits(rest) == std::vector{f.two.index, f.five.index, f.four.index});
}

TEST_CASE("operations leave the control queue in the order of their verbs", "[tree][C13]") {
  const auto op = [](detail::core::NodeId agent) {
    return prepared([agent](ControlOp& made) { made.agent = agent; });
  };
  ControlQueue queue;
  CHECK(queue.empty());
  queue.push(op(1));
  queue.push(op(2));
  CHECK_FALSE(queue.empty());
  queue.begin_batch();
  queue.push(op(3));  // of the next batch
  auto first = queue.next();
  REQUIRE(first);
  CHECK(first->agent == 1);
  queue.put_back(std::move(first));
  CHECK(queue.next()->agent == 1);
  queue.begin_batch();  // the batch is not at its end: nothing changes
  CHECK(queue.next()->agent == 2);
  CHECK_FALSE(queue.has_next());
  CHECK_FALSE(queue.empty());
  queue.begin_batch();
  CHECK(queue.next()->agent == 3);
  CHECK(queue.empty());
  CHECK(queue.next() == nullptr);
}
