// A conversation, as the Anthropic Messages dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::llm {

// The words of all system messages, with an empty line between them: they stand beside the conversation, not
// in it.
std::string anthropic_system(const std::vector<ChatMessage>& messages);

// The array `messages`, in which the roles user and assistant alternate: consecutive messages of one role
// become one message, with the blocks of each; results of tools have the role user. Without
// `join_user_messages` two messages with the role user stay apart. The API refuses empty texts and messages,
// so none of these is written:
// - a text of nothing but white space;
// - a message of nothing else, and an answer of nothing but thoughts;
// - thoughts that do not go back to `server`, and those that are no JSON object.
// Arguments that are no JSON object are written as {}. Ids of calls, which may come from any provider, are
// made of the letters that the API takes.
std::string anthropic_messages_list(const std::vector<ChatMessage>& messages, std::string_view server,
                                    bool join_user_messages);

}  // namespace agentcore::llm
