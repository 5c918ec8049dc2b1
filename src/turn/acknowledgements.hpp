// Acknowledgements: how far people have seen the answers that agents are giving.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/conversation.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace agentcore::detail::turn {

// The text of one model call that observers have received, for an agent that keeps partial answers.
struct DeliveredText {
  std::uint32_t call = 0;  // the number of the model call
  std::string text;
};

// At most one entry for each agent: that of the newest model call for which something was acknowledged.
class Acknowledgements {
 public:
  // Counts the acknowledgement if is_current() says that the message is that of the turn in progress. That is
  // asked under the lock, so that a slow thread does not replace the entry of a later turn. Returns the
  // answer of is_current(). Throws std::bad_alloc. @threadsafe
  template <typename IsCurrent>
  bool add(core::NodeId agent, const Acknowledgement& seen, IsCurrent&& is_current) {
    const std::lock_guard lock(mutex_);
    if (!is_current()) return false;
    Acknowledgement& entry = entries_[agent];
    if (is_newer(seen, entry)) entry = seen;
    return true;
  }

  // What is kept of the text of a model call in the turn of that message: what was acknowledged, or by the
  // policy of the agent all or nothing. Ends with a whole character; empty if only white space would be left.
  // @loop_thread, as all that follows
  std::string kept(const AgentSpec& spec, core::NodeId agent, MessageId message,
                   DeliveredText delivered) const noexcept;
  // Removes the entries of agents that were deleted.
  void forget_deleted(const core::AgentTable& table) noexcept;
  // How many entries there are for these agents (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  static bool is_newer(const Acknowledgement& seen, const Acknowledgement& entry) noexcept;

  mutable std::mutex mutex_;
  std::unordered_map<core::NodeId, Acknowledgement> entries_;
};

}  // namespace agentcore::detail::turn
