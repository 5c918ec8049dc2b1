// same_value(), one_spelling(): whether JSON texts say the same.
#pragma once

#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// A text that is equal for all JSON texts of one value, for many comparisons. Empty for what is no JSON, or
// is nested deeper than core::max_json_depth.
std::string one_spelling(std::string_view text);

// True if both are JSON of the same value: escapes, blank space, the order of members and the spelling of
// numbers (1, 1.0, 10e-1) do not count. Numbers are compared exactly, whatever their size. False for texts
// that are no JSON or are nested deeper than core::max_json_depth.
bool same_value(std::string_view a, std::string_view b);

}  // namespace agentcore::detail::llm
