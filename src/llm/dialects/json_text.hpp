// The text of a JSON string, also of one that a strict parser refuses.
#pragma once

#include <string>
#include <string_view>

namespace agentcore::llm {

// Unescapes a JSON string whose opening quote is the first byte of `token`, up to its closing quote. A
// surrogate escape without its other half (servers cut answers between the two) becomes U+FFFD. False: not a
// JSON string.
bool unescape_json(std::string_view token, std::string& text);

}  // namespace agentcore::llm
