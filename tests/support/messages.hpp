// Messages of conversations, as tests write them.
#pragma once

#include <agentcore/chat.hpp>

#include <iterator>
#include <utility>
#include <vector>

namespace agentcore::test {

// The message with that mark.
inline ChatMessage marked(ChatMessage message, Interruption mark) {
  message.interruption = mark;
  return message;
}

// The message, put into a running turn.
inline ChatMessage steered(ChatMessage message) {
  message.steered = true;
  return message;
}

// Puts reasoning before the other items.
inline void put_reasoning(ChatMessage& message, std::vector<ReasoningBlock> blocks) {
  message.items.insert(message.items.begin(), std::move_iterator(blocks.begin()),
                       std::move_iterator(blocks.end()));
}

}  // namespace agentcore::test
