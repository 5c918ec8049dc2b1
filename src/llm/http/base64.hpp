// Base64 according to RFC 4648.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// With padding. Allocates once, so that no copy of a secret is left in freed memory.
std::string to_base64(std::string_view bytes);

// Empty when the text is not base64: a foreign character, or a length or padding that to_base64() never
// writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace agentcore::detail::llm
