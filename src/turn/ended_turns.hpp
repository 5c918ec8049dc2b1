// EndedTurns: the results of the last turns of a tree that have ended.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"

#include <agentcore/message.hpp>
#include <agentcore/turn_result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace agentcore::detail::turn {

// A ring with a fixed number of places, all allocated at once. All @loop_thread.
class EndedTurns {
 public:
  struct Entry {
    MessageId message;
    core::NodeId agent = 0;
    std::uint64_t turn = 0;
    std::shared_ptr<const TurnResult> result;
  };

  explicit EndedTurns(std::size_t places) : entries_(places) {}

  // Keeps a result; the oldest one makes room for it.
  void add(MessageId message, core::NodeId agent, std::uint64_t turn,
           const std::shared_ptr<const TurnResult>& result) noexcept;
  // Null: not kept. The pointer is valid until the next call of another function.
  const Entry* find(MessageId message) const noexcept;
  // How many are kept of these agents (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // Forgets the results of agents that do not exist any more.
  void forget_deleted(const core::AgentTable& agents) noexcept;
  void clear() noexcept;

 private:
  std::vector<Entry> entries_;
  std::size_t next_ = 0;
};

}  // namespace agentcore::detail::turn
