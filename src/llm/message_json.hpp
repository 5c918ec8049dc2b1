// One message of a conversation as JSON, in the form of the chat-completions API of OpenAI. Histories have
// it, too.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/chat.hpp>

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::llm {

// An entry of `messages`. Strings are copied without a check: dump it with error_handler_t::replace.
AGENTCORE_INTERNAL_API nlohmann::json message_json(const ChatMessage& message);

// A part of a list of parts that is not text. The API has no documents and sounds with a URL; histories have.
AGENTCORE_INTERNAL_API nlohmann::json part_json(const ContentPart& part);

// "data:<media type>;base64,<data>", or the URL of the part.
AGENTCORE_INTERNAL_API std::string url_of(const ContentPart& part);

// The format of a sound in the API of OpenAI: "wav", "mp3", or the subtype.
AGENTCORE_INTERNAL_API std::string audio_format(std::string_view media_type);

// One entry for consecutive messages of the role user: their texts with an empty line between them, or, if
// one of them has images, a list of parts. As long as none has images, what was written for the first
// messages stays a prefix, byte for byte, when others follow.
AGENTCORE_INTERNAL_API nlohmann::json user_message_json(std::span<const ChatMessage> messages);

}  // namespace agentcore::detail::llm
