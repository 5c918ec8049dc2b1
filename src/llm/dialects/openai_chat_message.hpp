// One message of a conversation, as the OpenAI dialect writes it.
#pragma once

#include <agentcore/chat.hpp>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::llm {

// An entry of `messages`. Strings are taken over as they are: dump it with error_handler_t::replace.
nlohmann::json openai_chat_message(const ChatMessage& message);

}  // namespace agentcore::llm
