// A conversation, as the Anthropic Messages dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// The texts of all system messages, with an empty line between them: the API takes them outside of
// `messages`.
std::string anthropic_system(const std::vector<ChatMessage>& messages);

// The array `messages`, in which the roles user and assistant alternate: consecutive messages of one role
// become one message, with the blocks of each; results of tools have the role user. Without
// `join_user_messages` two messages with the role user stay separate. The API refuses empty texts and
// messages, so none of these is written:
// - a text of nothing but white space;
// - a message of nothing else, and an answer of nothing but reasoning;
// - reasoning that is not sent back to `server`, and blocks that are not a JSON object.
// Arguments that are not a JSON object are written as {}. Ids of calls, which may come from any provider, are
// converted to the characters that the API accepts.
std::string anthropic_messages_list(const std::vector<ChatMessage>& messages, std::string_view server,
                                    bool join_user_messages);

}  // namespace agentcore::detail::llm
