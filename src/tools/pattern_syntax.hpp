// The regular expressions of JSON schemas are those of ECMA-262; RE2 writes some of them in another way.
#pragma once

#include <agentcore/error.hpp>

#include <string>
#include <string_view>

namespace agentcore::tools {

// The same expression as RE2 reads it, with code points for characters (as by ECMA-262's flag `u`). An error
// says which part RE2 has no equivalent for: look-ahead, look-behind, back references, escapes that are not
// ECMA-262's. Syntax that is wrong in both is left to RE2. `pattern` must be UTF-8.
Result<std::string> to_re2(std::string_view pattern);

}  // namespace agentcore::tools
