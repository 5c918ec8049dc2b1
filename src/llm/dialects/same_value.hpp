// same_value(): whether two JSON texts say the same.
#pragma once

#include <string_view>

namespace agentcore::detail::llm {

// True if both are JSON of the same value: escapes, blank space, the order of members and the spelling of
// numbers (1, 1.0, 10e-1) do not count. Numbers are compared exactly, whatever their size. False for texts
// that are no JSON or are nested deeper than core::max_json_depth.
bool same_value(std::string_view a, std::string_view b);

}  // namespace agentcore::detail::llm
