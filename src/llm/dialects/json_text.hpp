// JSON as text: the text of a string, also if a strict parser refuses it; whether a text is an object.
#pragma once

#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Unescapes a JSON string whose opening quote is the first byte of `token`, up to its closing quote. A
// surrogate escape without its other half (servers cut answers between the two) becomes U+FFFD. False: not a
// JSON string.
bool unescape_json(std::string_view token, std::string& text);

// True if the text is a JSON object, to the last byte and in valid UTF-8.
bool is_json_object(std::string_view text);

}  // namespace agentcore::detail::llm
