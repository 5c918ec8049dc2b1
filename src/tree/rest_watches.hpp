// RestWatches: notices when nothing runs in a subtree any more.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"
#include "tree/progress.hpp"
#include "turn/turns.hpp"

#include <cstddef>
#include <functional>
#include <unordered_set>
#include <vector>

namespace agentcore::detail::tree {

// While beginnings are withheld, what runs can only become less. So a watch finds once, in a pass over all
// agents, those that are not at rest (turn::Rest), and removes each when it is. When none is left, it makes
// the pass once more, because the answer to a question lets a tool go on. All @loop_thread.
class RestWatches {
 public:
  enum class Cause : unsigned char { pause, stop };
  using AtRest = std::function<void(core::NodeId root, Cause cause)>;

  // `at_rest` is called by run(); it may add and remove watches.
  RestWatches(core::AgentTable& agents, turn::Turns& turns, AtRest at_rest)
      : agents_(agents), turns_(turns), at_rest_(std::move(at_rest)) {}

  // Watches the subtree of `root`, instead of an earlier watch of that root and cause. Throws std::bad_alloc.
  void add(core::NodeId root, Cause cause);
  void remove(core::NodeId root, Cause cause) noexcept;
  // Forgets the agents that do not exist any more.
  void forget_deleted() noexcept;
  // Something of `node` has ended, or waits.
  void check(const core::Node& node) noexcept;
  // Throws std::bad_alloc; the next call tries again.
  Progress run(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone);
  bool has_work() const noexcept { return pass_.is_active(); }
  std::size_t count(const core::References& refers) const noexcept;
  void clear() noexcept;

 private:
  struct Watch {
    core::NodeId root = 0;
    Cause cause = Cause::pause;
    bool counted = false;
    std::unordered_set<core::NodeId> busy;
  };
  void count_agent(const core::Node& node);
  static bool covers(const Watch& watch, const core::Node& root, const core::Node& node) noexcept;
  bool is_at_rest(const Watch& watch, const core::Node& node) const noexcept;
  void count_again() noexcept;

  core::AgentTable& agents_;
  turn::Turns& turns_;
  const AtRest at_rest_;
  std::vector<Watch> watches_;
  SlotPass pass_;
};

}  // namespace agentcore::detail::tree
