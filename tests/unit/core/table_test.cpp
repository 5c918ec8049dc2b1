// The packed state, the slab, the names and the gates below everything else.
#include "core/agent_table.hpp"
#include "core/utf8.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::core;

namespace {

void close(Node& node, Gate gate, AgentState state) {
  node.packed.store(node.load().with(gate).with(state).next_epoch().raw());
}

GateView view(const Node& node) {
  return look(node, node.load().generation());
}

}  // namespace

TEST_CASE("the packed state keeps its four fields apart", "[core]") {
  const PackedState packed{0xdead'beef, PackedState::epoch_mask, Gate::stop_tree, AgentState::terminating};
  CHECK(packed.generation() == 0xdead'beef);
  CHECK(packed.epoch() == PackedState::epoch_mask);
  CHECK(packed.gate() == Gate::stop_tree);
  CHECK(packed.state() == AgentState::terminating);
  CHECK(packed.with(AgentState::idle).with(Gate::open) ==
        PackedState{0xdead'beef, PackedState::epoch_mask, Gate::open, AgentState::idle});
  CHECK(packed.next_epoch() == PackedState{0xdead'beef, 0, Gate::stop_tree, AgentState::terminating});
  CHECK_FALSE(packed.is_free());
  CHECK(packed.freed().is_free());
  CHECK(packed.freed().generation() == 0xdead'bef0);
}

TEST_CASE("the packed state is replaced only if it has the expected value", "[core][B15]") {
  AgentTable table;
  Node& node = table.insert(table.root_sentinel());
  PackedState expected = node.load();
  CHECK(node.replace(expected, expected.with(AgentState::processing)));
  CHECK(node.load().state() == AgentState::processing);
  PackedState stale = expected;
  CHECK_FALSE(node.replace(stale, stale.with(AgentState::waiting_llm)));
  CHECK(stale == node.load());
  CHECK(node.load().state() == AgentState::processing);
}

TEST_CASE("a slab grows without moving its nodes", "[core][G13]") {
  Slab<std::vector<int>> slab;
  std::vector<std::vector<int>*> places;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    CHECK(slab.grow() == i);
    slab[i].assign(1, static_cast<int>(i));
    places.push_back(&slab[i]);
  }
  CHECK(slab.size() == 1000);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    CHECK(&slab[i] == places[i]);
    CHECK(slab[i].front() == static_cast<int>(i));
  }
}

TEST_CASE("children are linked newest first and can be unlinked from any place", "[core]") {
  for (int victim = 0; victim < 3; ++victim) {
    AgentTable table;
    Node& parent = table.insert(table.root_sentinel());
    std::vector<Node*> kids;
    for (int i = 0; i < 3; ++i) kids.push_back(&table.insert(parent));
    CHECK(kids[0]->depth == 2);
    table.erase(*kids[static_cast<std::size_t>(victim)]);
    std::vector<const Node*> left;
    for (const Node* kid = table.first_child(parent); kid; kid = table.next_sibling(*kid))
      left.push_back(kid);
    kids.erase(kids.begin() + victim);
    std::reverse(kids.begin(), kids.end());
    CHECK(left == std::vector<const Node*>(kids.begin(), kids.end()));
    CHECK(table.alive() == 3);
  }
}

TEST_CASE("a recycled slot belongs to another agent", "[core][G3][G13]") {
  AgentTable table;
  Node& first = table.insert(table.root_sentinel());
  const NodeId old = first.id();
  CHECK(table.find(old) == &first);
  table.erase(first);
  CHECK(table.find(old) == nullptr);
  Node& second = table.insert(table.root_sentinel());
  CHECK(&second == &first);
  CHECK(second.id() != old);
  CHECK(table.find(old) == nullptr);
  CHECK_FALSE(look(second, generation_of(old)).valid);
  CHECK_FALSE(admits(second, generation_of(old), 0));
  CHECK(table.slots() == 2);
}

TEST_CASE("freed slots are reused oldest first so that memory is bounded", "[core][G13]") {
  AgentTable table;
  for (int i = 0; i < 10'000; ++i) table.erase(table.insert(table.root_sentinel()));
  CHECK(table.slots() == 2);
  Node& a = table.insert(table.root_sentinel());
  Node& b = table.insert(table.root_sentinel());
  table.erase(a);
  table.erase(b);
  CHECK(&table.insert(table.root_sentinel()) == &a);
  CHECK(&table.insert(table.root_sentinel()) == &b);
}

TEST_CASE("the id 0 and the id of an unused slot find no agent", "[core]") {
  AgentTable table;
  CHECK(table.find(NodeId{0}) == nullptr);
  CHECK(table.find(make_id(99, 1)) == nullptr);
  CHECK(table.find("@0.1") == nullptr);  // the root sentinel is not an agent
}

TEST_CASE("agent ids are valid or refused as documented", "[core]") {
  CHECK(NameTable::is_valid("a"));
  CHECK(NameTable::is_valid(std::string(255, 'x')));
  CHECK(NameTable::is_valid("Зоя 🤖"));
  CHECK_FALSE(NameTable::is_valid(""));
  CHECK_FALSE(NameTable::is_valid(std::string(256, 'x')));
  CHECK_FALSE(NameTable::is_valid("@1.1"));
  CHECK_FALSE(NameTable::is_valid("\xff"));
}

TEST_CASE("generated ids have one form and find only their own agent", "[core]") {
  AgentTable table;
  Node& node = table.insert(table.root_sentinel());
  const std::string name = table.names().name_of(node, node.id());
  CHECK(name == "@1.1");
  CHECK(table.find(name) == &node);
  for (const char* const wrong : {"@", "@1", "@1.", "@.1", "@1.1.", "@01.1", "@1.01", "@1.2", "@2.1", "@-1.1",
                                  "@+1.1", "@1.1 ", "@99999999999.1"})
    CHECK(table.find(wrong) == nullptr);
  table.erase(node);
  CHECK(table.find(name) == nullptr);
  CHECK(table.names().name_of(node, make_id(1, 1)).empty());
}

TEST_CASE("an id is taken once and free again afterwards", "[core][D4]") {
  AgentTable table;
  Node& a = table.insert(table.root_sentinel());
  Node& b = table.insert(table.root_sentinel());
  CHECK(table.names().add("x", a));
  CHECK_FALSE(table.names().add("x", b));
  CHECK(table.find("x") == &a);
  table.erase(a);
  CHECK(table.names().size() == 0);
  CHECK(table.names().add("x", b));
  CHECK(table.find("x") == &b);
}

TEST_CASE("a gate closes for its subtree or for one agent", "[core][G1][C17][X12]") {
  AgentTable table;
  Node& top = table.insert(table.root_sentinel());
  Node& middle = table.insert(top);
  Node& leaf = table.insert(middle);
  const auto open = [](const Node& node) {
    return admits(node, node.load().generation(), node.load().epoch());
  };
  close(middle, Gate::stop_self, AgentState::stopping);
  CHECK((open(top) && !open(middle) && open(leaf)));
  close(middle, Gate::stop_tree, AgentState::stopping);
  CHECK((open(top) && !open(middle) && !open(leaf)));
  close(middle, Gate::open, AgentState::idle);
  close(table.root_sentinel(), Gate::stop_tree, AgentState::stopping);
  CHECK((!open(top) && !open(middle) && !open(leaf)));
}

TEST_CASE("a result of an earlier epoch is not admitted", "[core][F6]") {
  AgentTable table;
  Node& node = table.insert(table.root_sentinel());
  const PackedState before = node.load();
  CHECK(admits(node, before.generation(), before.epoch()));
  node.packed.store(before.next_epoch().raw());
  CHECK_FALSE(admits(node, before.generation(), before.epoch()));
}

TEST_CASE("the effective state below a closed gate is that of the gate", "[core][X13][X33]") {
  AgentTable table;
  Node& top = table.insert(table.root_sentinel());
  Node& middle = table.insert(top);
  Node& leaf = table.insert(middle);
  const auto seen = [](const Node& node) {
    CHECK(stop_state(node) == view(node).effective);
    return view(node).effective;
  };
  CHECK(seen(leaf) == AgentState::idle);
  close(top, Gate::terminate, AgentState::terminating);
  CHECK(seen(leaf) == AgentState::terminating);
  close(middle, Gate::stop_tree, AgentState::stopping);  // it was there first: the delete waits for it
  CHECK(seen(leaf) == AgentState::stopping);
  CHECK(seen(middle) == AgentState::stopping);
  close(middle, Gate::stop_tree, AgentState::stopped);
  close(leaf, Gate::stop_tree, AgentState::stopped);
  CHECK(seen(leaf) == AgentState::terminating);
  close(top, Gate::stop_tree, AgentState::stopped);
  CHECK(seen(leaf) == AgentState::stopped);
}

TEST_CASE("the effective state below a deleted agent stays that of the delete", "[core][X13][X33]") {
  AgentTable table;
  Node& top = table.insert(table.root_sentinel());
  Node& middle = table.insert(top);
  Node& leaf = table.insert(middle);
  close(middle, Gate::terminate, AgentState::terminating);
  close(top, Gate::stop_tree, AgentState::stopping);
  CHECK(view(leaf).effective == AgentState::terminating);
  CHECK(stop_state(leaf) == AgentState::terminating);
  CHECK(view(leaf).above == Gate::terminate);
  close(leaf, Gate::stop_self, AgentState::stopped);
  CHECK(view(leaf).effective == AgentState::terminating);
  CHECK(stop_state(leaf) == AgentState::terminating);
  close(middle, Gate::terminate, AgentState::stopping);  // a stop was there first
  CHECK(view(leaf).effective == AgentState::stopped);
  CHECK(stop_state(leaf) == AgentState::stopped);
  close(leaf, Gate::open, AgentState::idle);
  close(middle, Gate::stop_tree, AgentState::stopped);  // its stop was widened
  close(top, Gate::terminate, AgentState::terminating);
  CHECK(view(leaf).effective == AgentState::stopping);
  CHECK(stop_state(leaf) == AgentState::stopping);
}

TEST_CASE("generated ids of two trees differ", "[core]") {
  AgentTable first, second(2);
  const Node& one = first.insert(first.root_sentinel());
  const Node& two = second.insert(second.root_sentinel());
  const std::string name = second.names().name_of(two, two.id());
  CHECK(name == "@2:1.1");
  CHECK(second.find(name) == &two);
  CHECK(second.find("@1.1") == nullptr);
  CHECK(first.find(name) == nullptr);
  CHECK(first.find(first.names().name_of(one, one.id())) == &one);
  for (const char* const wrong : {"@2:", "@2:1", "@2:01.1", "@3:1.1", "@:1.1", "@2:@1.1"})
    CHECK(second.find(wrong) == nullptr);
}

TEST_CASE("is_within looks up to the given root", "[core]") {
  AgentTable table;
  Node& top = table.insert(table.root_sentinel());
  Node& leaf = table.insert(top);
  Node& other = table.insert(table.root_sentinel());
  CHECK(is_within(&leaf, &top));
  CHECK(is_within(&top, &top));
  CHECK_FALSE(is_within(&other, &top));
  CHECK(is_within(&other, &table.root_sentinel()));
  CHECK_FALSE(is_within(nullptr, &top));
}

TEST_CASE("the active-agent guard names the agent whose action is running", "[core][G1]") {
  AgentTable table;
  const Node& a = table.insert(table.root_sentinel());
  const Node& b = table.insert(table.root_sentinel());
  {
    const ActiveAgentGuard one(table, a);
    CHECK(table.active_agent.load() == &a);
    {
      const ActiveAgentGuard same(table, a);
      CHECK(table.active_agent.load() == &a);
      const ActiveAgentGuard two(table, b);
      CHECK(table.active_agent.load() == table.several_agents());
    }
    CHECK(table.active_agent.load() == &a);
  }
  CHECK(table.active_agent.load() == nullptr);
}

TEST_CASE("UTF-8 is valid exactly as Unicode defines it", "[core]") {
  for (const char* const good :
       {"", "plain", "0123456789abcdef", "é", "€", "𝄞", "\xF4\x8F\xBF\xBF", "\xEE\x80\x80"})
    CHECK(is_utf8(good));
  for (const char* const bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3",
                                "\xE2\x82", "\xF0\x9D\x84", "12345678\xff", "abc\xE2(\xA1"})
    CHECK_FALSE(is_utf8(bad));
}
