// ConversationVerbs: what the host changes in the conversations of its agents. All @loop_thread.
#pragma once

#include "events/event_hub.hpp"
#include "tree/scheduler.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/conversation.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace agentcore::detail::tree {

// Each function changes the conversation at once, and reports that afterwards. A turn in progress is ended
// before, which runs code of the host: then the agent is looked up once more.
class ConversationVerbs {
 public:
  ConversationVerbs(TreeShared& tree, turn::Turns& turns, Scheduler& scheduler, events::EventHub& hub)
      : tree_(tree), turns_(turns), scheduler_(scheduler), hub_(hub) {}

  Result<std::vector<ConversationTurn>> turns_of(core::NodeId id) const;
  Result<void> truncate_answer(core::NodeId id, MessageId message, std::size_t bytes);
  Result<std::vector<ChatMessage>> rewind(core::NodeId id, std::uint64_t turn);
  SendResult regenerate(core::NodeId id, SendOptions&& options);

 private:
  // The agent's data; null, with the reason in `why`, if its conversation cannot be changed.
  turn::TurnData* find(core::NodeId id, Error& why) const;
  Error take_back(core::NodeId id, std::uint64_t turn, std::vector<ChatMessage>& removed);
  void report(core::NodeId id, ConversationChange change, std::uint64_t turn, std::size_t kept) noexcept;

  TreeShared& tree_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  events::EventHub& hub_;
};

}  // namespace agentcore::detail::tree
