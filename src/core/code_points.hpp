// The characters of a text, for escapes.
#pragma once

#include "core/internal_api.hpp"

#include <string>
#include <string_view>

namespace agentcore::detail::core {

// Reads the code point at the beginning of `text`, which is not empty and valid UTF-8, and removes it.
AGENTCORE_INTERNAL_API char32_t take_code_point(std::string_view& text) noexcept;

// True for what a person does not see, what a terminal acts on, and what changes how other text is shown.
// Line ends and tabs are among them; joiners and selectors of variants are not.
AGENTCORE_INTERNAL_API bool is_unsafe_to_show(char32_t code_point) noexcept;

// Appends the escape of a code point: \u001b, or \U000e0001.
AGENTCORE_INTERNAL_API void append_escape(std::string& to, char32_t code_point);

// Brings the text of an error into the form of display(). Without memory the text is empty afterwards.
AGENTCORE_INTERNAL_API void make_displayable(std::string& text) noexcept;

}  // namespace agentcore::detail::core
