// NumberPass: a pass over entries that are numbered in the order in which they were added.
#pragma once

#include "loop/source.hpp"

#include <cstdint>
#include <utility>

namespace agentcore::detail::turn {

// Keeps its position from poll to poll. The position is a number: so a visit may add and remove any entries.
class NumberPass {
 public:
  // Starts the pass again at the first entry, up to that with the number `last`.
  void restart(std::uint64_t last) noexcept {
    visited_ = 0;
    last_ = last;
  }
  void cancel() noexcept { last_ = 0; }
  bool is_active() const noexcept { return visited_ < last_; }

  // Calls visit(entry) for each entry of the map `entries` that is left, as long as the budget lasts. False:
  // some are left. If visit() throws, the next run visits that entry again.
  template <typename Entries, typename Visit>
  bool run(loop::PollBudget& budget, Entries& entries, Visit&& visit) {
    while (is_active()) {
      const auto next = entries.upper_bound(visited_);
      if (next == entries.end() || next->first > last_) {
        cancel();
        break;
      }
      if (!budget.spend()) return false;
      visited_ = next->first;
      try {
        visit(*next);
      } catch (...) {
        --visited_;
        throw;
      }
    }
    return true;
  }

 private:
  std::uint64_t visited_ = 0;
  std::uint64_t last_ = 0;  // not greater than `visited_`: the pass is over
};

}  // namespace agentcore::detail::turn
