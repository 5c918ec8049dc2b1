// Text from a store, made safe for a terminal: it can neither control the terminal nor pretend to be other
// text.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace store_tool {

// On one line. Escaped are control characters, bytes that are no UTF-8, characters that are invisible or
// change the direction of writing, and the backslash: "\n", "\x1b", "\u{202e}", "\\".
std::string printable(std::string_view text);

// As printable(), but each line of the text is a line that begins with `margin` and ends with '\n'.
std::string indented(std::string_view text, std::string_view margin);

// JSON in ASCII, over several lines, without an end of line behind it.
std::string safe_json(const nlohmann::ordered_json& value);

}  // namespace store_tool
