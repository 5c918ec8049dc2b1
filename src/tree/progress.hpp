// Progress and SlotPass: work on the loop thread that is done in pieces.
#pragma once

#include "loop/engine.hpp"

#include <cstdint>

namespace agentcore::detail::tree {

// How a piece of work ended.
enum class Progress : std::uint8_t {
  done,       // nothing of it is left
  more,       // the budget of the poll is used up; the next poll continues
  tree_gone,  // a callback destroyed the tree or its Runtime
};

// A pass over all slots of a table, which keeps its position from poll to poll.
class SlotPass {
 public:
  // Starts the pass again at the first slot.
  void restart() noexcept { next_ = 0; }
  void cancel() noexcept { next_ = no_slot; }
  bool is_active() const noexcept { return next_ != no_slot; }

  // Calls visit(slot) for each slot that is left, as long as the budget lasts and `is_tree_gone()` is false.
  // `slots()` is called each time, because a visit may add slots.
  template <typename Slots, typename TreeGone, typename Visit>
  Progress run(loop::PollBudget& budget, Slots&& slots, TreeGone&& is_tree_gone, Visit&& visit) {
    while (is_active()) {
      if (next_ >= slots()) {
        cancel();
        break;
      }
      if (!budget.spend()) return Progress::more;
      visit(next_++);
      if (is_tree_gone()) return Progress::tree_gone;
    }
    return Progress::done;
  }

 private:
  static constexpr std::uint32_t no_slot = 0xffff'ffff;
  std::uint32_t next_ = no_slot;
};

}  // namespace agentcore::detail::tree
