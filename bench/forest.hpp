// Forest: a Runtime and a tree of many agents in a chosen shape.
#pragma once

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

namespace bench {

using namespace agentcore;

enum class Shape : unsigned char {
  tree,          // eight children each, made level by level: neighbours in the tree are neighbours in memory
  random_order,  // eight children each, but each new agent hangs below a random one that still has room
  star,          // all below the root
  chains,        // below the root, chains as long as the depth limit allows
};

struct Forest {
  Runtime runtime{{.poll_budget = std::chrono::seconds(100)}};
  AgentTree tree{runtime};
  std::vector<Agent> agents;  // the root first

  void grow(std::size_t count, const SharedAgentSpec& spec, Shape shape);
  void settle() {
    while (tree.busy()) runtime.poll();
  }
};

// Selects the agent, among those created so far, below which the next one is created.
class Parents {
 public:
  explicit Parents(Shape shape) : shape_(shape) {}

  std::size_t next(std::size_t made) {
    if (shape_ == Shape::star) return 0;
    if (shape_ == Shape::chains) return (made - 1) % longest_chain == 0 ? 0 : made - 1;
    if (shape_ == Shape::tree) return (made - 1) / fan_out;
    return random_with_room(made);
  }

 private:
  static constexpr std::size_t fan_out = 8;
  static constexpr std::size_t longest_chain = 63;  // and the root: the default depth limit

  std::size_t random_with_room(std::size_t made) {
    children_.push_back(0);
    room_.push_back(static_cast<std::uint32_t>(made - 1));
    const std::size_t pick = random_() % room_.size();
    const std::size_t parent = room_[pick];
    if (++children_[parent] == fan_out) {
      room_[pick] = room_.back();
      room_.pop_back();
    }
    return parent;
  }

  const Shape shape_;
  std::mt19937_64 random_{42};
  std::vector<std::uint32_t> room_;
  std::vector<std::uint8_t> children_;
};

inline void Forest::grow(std::size_t count, const SharedAgentSpec& spec, Shape shape) {
  Parents parents(shape);
  agents.reserve(count);
  agents.push_back(tree.create(spec).value());
  while (agents.size() < count)
    agents.push_back(agents[parents.next(agents.size())].create_child(spec).value());
}

}  // namespace bench
