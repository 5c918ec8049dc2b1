// Ids of tool calls in the form that a provider accepts. A history may hold calls of other providers, whose
// ids have another form.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Returns the id itself if it is acceptable: `exact` letters and digits, or, if `exact` is 0, any text of up
// to `most` bytes. Otherwise returns an id derived from it, always the same, so that a call and its result
// still match.
std::string call_id(std::string_view id, std::size_t exact, std::size_t most);

}  // namespace agentcore::detail::llm
