// Acknowledgements: how far people have seen the answers that agents are giving.
#pragma once

#include "core/agent_table.hpp"
#include "core/mutex.hpp"
#include "core/references.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/conversation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

namespace agentcore::detail::turn {

// The text of one model call that observers have received, for an agent that keeps partial answers.
struct DeliveredText {
  std::uint32_t call = 0;  // the number of the model call
  std::string text;
};

// At most one entry for each agent that keeps partial answers: that of its newest model call.
class Acknowledgements {
 public:
  // Counts the acknowledgement, if it is of the newest model call, and is_current() says that the message is
  // that of the turn in progress. That is asked under the lock, so that a slow thread does not reach the
  // entry of a later turn. Returns the answer of is_current(). @threadsafe
  template <typename IsCurrent>
  bool add(core::NodeId agent, const Acknowledgement& seen, IsCurrent&& is_current) noexcept {
    const core::Lock lock(mutex_);
    if (!is_current()) return false;
    const auto entry = entries_.find(agent);
    if (entry != entries_.end() && entry->second.message == seen.message && entry->second.call == seen.call)
      entry->second.bytes = std::max(entry->second.bytes.value_or(0), seen.bytes);
    return true;
  }

  // A model call of an agent that keeps partial answers is sent next: nothing of it was seen. Throws
  // std::bad_alloc. @loop_thread
  void begin(core::NodeId agent, MessageId message, std::uint32_t call);

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
  struct Entry {
    MessageId message;
    std::uint32_t call = 0;
    std::optional<std::size_t> bytes;  // empty: nothing was acknowledged
  };

  mutable core::Mutex mutex_{core::LockRank::acknowledgements};
  std::unordered_map<core::NodeId, Entry> entries_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::turn
