// What of a conversation is sent to the model, as a record.
#pragma once

#include "core/internal_api.hpp"
#include "turn/sent_context.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::persist {

// True if all messages are sent, and no summary: then there is no record.
bool sends_all(const turn::SentContext& context) noexcept;

// Without what is computed again: the tokens of messages, the ends of requests, the windows.
std::string to_json(const turn::SentContext& context);
// `most`: how many messages the conversation has. Throws nlohmann::json::exception.
AGENTCORE_INTERNAL_API turn::SentContext read_context(std::string_view text, std::size_t most);

}  // namespace agentcore::detail::persist
