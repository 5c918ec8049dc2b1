// Base64, as RFC 4648 has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::llm {

// With padding. Allocates once, so that a secret leaves no copy behind.
std::string to_base64(std::string_view bytes);

// Empty when it is none: a foreign character, or a length or padding that to_base64() never writes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace agentcore::llm
