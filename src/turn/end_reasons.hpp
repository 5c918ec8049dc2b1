// EndReasons: why verbs have ended turns, for the state changes that the loop reports.
#pragma once

#include "core/agent_table.hpp"
#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/references.hpp"

#include <agentcore/stop_origin.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agentcore::detail::turn {

// An abort or an interrupt takes effect on the thread of its caller, and the loop may find the turn ended,
// and report that, before it reads the operation of the verb. So a verb with a reason leaves its origin here
// in the moment in which it takes effect; the loop removes the origin when it has reported the ends. A verb
// without a reason has no entry, and does not take the mutex. Without memory for an entry, the state changes
// have no origin.
class EndReasons {
 public:
  // Replaces the packed state `from` of the agent by `to`, which ends the turn in progress. False: it has
  // changed meanwhile, and nothing was done. @threadsafe
  bool end_turn(core::Node& node, core::PackedState from, core::PackedState to,
                const StopOrigin& origin) noexcept;
  // The verb is about to end the turns of the subtree of the agent, by the interrupt of that number.
  // @threadsafe
  void add_subtree(core::NodeId agent, std::uint32_t interrupt, const StopOrigin& origin) noexcept;

  // @loop_thread, as all that follows
  // The loop has read the operation of end_turn(), which gave the agent that epoch.
  void remove(core::NodeId agent, std::uint32_t epoch) noexcept;
  // The loop has read the operation of the interrupt of that number.
  void set_read(std::uint32_t interrupt) noexcept;
  // The loop has ended the turns of all interrupts of subtrees whose operations it has read.
  void remove_read() noexcept;
  // Why the last turn of `node` was ended by an abort or an interrupt: the reason of the first one.
  StopOrigin find(const core::Node& node) const noexcept;
  // How many entries there are for these agents (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  enum class Kind : std::uint8_t { turn, subtree, read_subtree };
  struct Entry {
    core::NodeId agent = 0;
    std::uint32_t number = 0;  // the epoch after the verb, or the number of the interrupt
    Kind kind = Kind::turn;
    StopOrigin origin;
  };
  bool add(Entry entry) noexcept AGENTCORE_REQUIRES(mutex_);
  template <typename Matches>
  void remove_if(Matches&& matches) noexcept;
  static bool covers(const Entry& entry, const core::Node& node) noexcept;

  mutable core::Mutex mutex_{core::LockRank::end_reasons};
  std::vector<Entry> entries_ AGENTCORE_GUARDED_BY(mutex_);  // oldest first
  core::Atomic<std::size_t> count_{0};  // of the entries: if 0, the mutex need not be taken
};

}  // namespace agentcore::detail::turn
