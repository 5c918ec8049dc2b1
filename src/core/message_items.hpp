// What the library itself reads from and writes to the items of a message.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::core {

// The separator between two texts of one answer.
inline constexpr std::string_view between_texts = "\n\n";

// The first text: of a question or a result it is the only one. An empty text if there is none.
AGENTCORE_INTERNAL_API const std::string& first_text(const ChatMessage& message) noexcept;

// The same, to change it: an empty text is put before all other items if there is none.
AGENTCORE_INTERNAL_API std::string& first_text(ChatMessage& message);

// True if no text has anything but white space.
AGENTCORE_INTERNAL_API bool is_blank(const ChatMessage& message) noexcept;

// Cuts ChatMessage::content() to `bytes`, at a character, and removes the texts behind. False: it is not
// longer, and nothing changes.
AGENTCORE_INTERNAL_API bool truncate_content(ChatMessage& message, std::size_t bytes) noexcept;

// "text", "reasoning", "tool_call", or the kind of a part.
AGENTCORE_INTERNAL_API std::string_view kind_of(const MessageItem& item) noexcept;

// True if the items stand in the order in which older histories have them: reasoning, one text, images,
// calls; and the text has nothing but its text.
AGENTCORE_INTERNAL_API bool is_plain(const ChatMessage& message) noexcept;

// The items of an answer, of which ChatOutcome has the reasoning, the calls and the order, and `text` is what
// was delivered. Each part becomes an item; white space that was delivered between two texts is left out. An
// order that does not fit the others counts as none.
AGENTCORE_INTERNAL_API std::vector<MessageItem> items_of(std::string text,
                                                         std::vector<ReasoningBlock> reasoning,
                                                         std::vector<ToolCall> calls,
                                                         const std::vector<AnswerPart>& order);

}  // namespace agentcore::detail::core
