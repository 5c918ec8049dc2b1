// Decides whether the body of an answer is a stream of events, by its first bytes.
#pragma once

#include <cstdint>
#include <string_view>

namespace agentcore::detail::llm {

enum class AnswerForm : std::uint8_t { unclear, events, body };

inline constexpr std::size_t max_unclear_bytes = 4096;  // after which form_of() is not called any more

// The result does not depend on how the bytes were cut into pieces. `declared`: the content type is that of a
// stream.
AnswerForm form_of(std::string_view beginning, bool declared) noexcept;

// A whole answer, without the byte order mark that some servers send before it.
std::string_view without_mark(std::string_view body) noexcept;

}  // namespace agentcore::detail::llm
