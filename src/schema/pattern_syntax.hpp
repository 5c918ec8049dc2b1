// Translates the regular expressions of JSON schemas, which are those of ECMA-262, to the syntax of RE2.
#pragma once

#include <agentcore/error.hpp>

#include <string>
#include <string_view>

namespace agentcore::detail::schema {

// The same expression in the syntax of RE2; a character is a code point (as with ECMA-262's flag `u`). An
// error names the part that RE2 has no equivalent for: look-ahead, look-behind, back references, escapes that
// ECMA-262 does not define. Mistakes in both syntaxes are not detected; RE2 reports them. `pattern` must be
// UTF-8.
Result<std::string> to_re2(std::string_view pattern);

}  // namespace agentcore::detail::schema
