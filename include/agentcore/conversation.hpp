// What the functions of Agent get and return that read and change its conversation:
// Agent::conversation_page(), turns(), acknowledge(), fork(). What is sent of a conversation: ContextOptions.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

/// How far a person has seen or heard the answer of one model call.
struct Acknowledgement {
  MessageId message = {};  ///< The message of the turn: SendResult::id, TurnStarted::message.
  std::uint32_t call = 0;  ///< The model call: DeltaReceived::call, from 1.
  std::size_t bytes = 0;   ///< How much of its text, in bytes: of the deltas together, from the first.
};

/// A part of a conversation.
struct ConversationPage {
  std::vector<ChatMessage> messages = {};  ///< A copy of these messages, the oldest first.
  std::size_t first = 0;                   ///< The index of the first of them in Agent::conversation().
  std::size_t total = 0;                   ///< How many messages the conversation has.
  /// The indexes in Agent::conversation() of those messages that stand for tool calls of the turn in progress
  /// which have not ended. They say what the model would read if the turn ended now.
  std::vector<std::size_t> open_calls = {};
};

/// Where a turn is in a conversation.
struct ConversationTurn {
  std::uint64_t turn = 0;    ///< The number of the turn: TurnStarted::turn.
  std::size_t question = 0;  ///< The index of its question in Agent::conversation().
  bool ended = false;        ///< False: the turn is in progress.
};

/// Options of Agent::fork().
struct ForkOptions {
  /// AgentSpec::id of the new agent. Empty: an id is generated.
  std::string id = {};
  /// The last turn that the new agent has: an ended turn of Agent::turns(). Empty: the last ended turn; if
  /// there is none, the conversation of the new agent is empty.
  std::optional<std::uint64_t> at = {};
};

}  // namespace agentcore
