// Does a request ask what a recorded one asked? Pure functions.
#pragma once

#include "core/internal_api.hpp"

#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// True if both bodies are the same JSON, whatever the order of members, or the same text. "[removed]" in a
// string of the recording, which stands for a secret, is equal to any text.
AGENTCORE_INTERNAL_API bool asks_the_same(std::string_view recorded, std::string_view asked);

// How `asked` differs from `recorded`: the first few places, each with both values, shortened:
// "messages[0].content: recorded \"Be brief.\", asked \"Be kind.\"". Only for bodies that differ.
AGENTCORE_INTERNAL_API std::string difference_of(std::string_view recorded, std::string_view asked);

}  // namespace agentcore::detail::llm
