// Ids of tool calls as a provider takes them back. A history may have met others before, whose ids look
// different.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::llm {

// The id itself where it fits: `exact` letters and digits, or, with 0, any text up to `most` bytes. Else one
// made of it, always the same, so that a call and its result still belong together.
std::string call_id(std::string_view id, std::size_t exact, std::size_t most);

}  // namespace agentcore::llm
