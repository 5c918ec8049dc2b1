// What the readers of answers ask of a simdjson value: its text, its count, its JSON. Whatever the value is,
// they end with an answer; what is wrong with the structure of the JSON is kept by simdjson's iterator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace agentcore::llm {

// The value's text, if it is one. Valid until the next parse, or the next use of `repair`: it holds the text
// that simdjson refuses. `broken` becomes true for a string that is none.
std::optional<std::string_view> text_of(simdjson::ondemand::value& value, std::string& repair, bool& broken);

// 0 for what is no count.
std::uint64_t count_of(simdjson::ondemand::value& value) noexcept;

// The text of an object, an array, a number or a boolean; empty for null. Valid until the next parse.
std::string_view json_of(simdjson::ondemand::value& value) noexcept;

}  // namespace agentcore::llm
