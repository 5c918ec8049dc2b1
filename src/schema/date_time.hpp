// Dates and times in the formats of JSON schemas.
#pragma once

#include <string_view>

namespace agentcore::detail::schema {

// True if `text` has the `format` "date", "time" or "date-time" of RFC 3339. True for any other format, which
// is not checked.
bool has_format(std::string_view text, std::string_view format) noexcept;

}  // namespace agentcore::detail::schema
