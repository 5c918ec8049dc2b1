// StoredConversation: the messages of a conversation, read from a store.
#pragma once

#include "core/internal_api.hpp"
#include "persist/agent_record.hpp"
#include "persist/read_range.hpp"
#include "turn/conversation.hpp"

#include <cstdint>
#include <vector>

namespace agentcore::detail::persist {

struct StoredConversation {
  std::vector<ChatMessage> messages;
  std::vector<turn::TurnPlace> turns;  // in their order
};

// False: there is a message before the first turn that is no summary.
bool begins_with_turn(const StoredConversation& conversation) noexcept;

// `turns`: how many the agent has begun. Throws std::exception if a record is missing or damaged.
AGENTCORE_INTERNAL_API Result<StoredConversation> read_conversation(const ReadRange& read,
                                                                    const std::vector<Piece>& history,
                                                                    std::uint64_t turns);

}  // namespace agentcore::detail::persist
