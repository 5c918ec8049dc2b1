// UTF-8 at the edge: what a provider sends is made valid before anyone sees it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::llm {

// Adds the code point in UTF-8. One that is none (a surrogate, or too large) is added as U+FFFD.
void append_utf8(std::string& to, char32_t code_point);

// `text` with every maximal broken sequence replaced by one U+FFFD, as browsers do.
std::string valid_utf8(std::string_view text);

// The longest beginning of valid UTF-8 that has at most `characters` code points.
std::string_view first_characters(std::string_view text, std::size_t characters) noexcept;

}  // namespace agentcore::llm
