// How the readers of answers read a simdjson value: its text, its count, its JSON. Each function returns
// normally whatever the value is; simdjson's iterator keeps errors in the structure of the JSON.
#pragma once

#include "llm/dialects/json_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

namespace agentcore::detail::llm {

// The value's text, if it is a string. Valid until the next parse, or the next use of `repair`, which holds a
// text that simdjson refuses. `broken` becomes true for a string that is invalid. Inline: called for every
// piece of an answer.
inline std::optional<std::string_view> text_of(simdjson::ondemand::value& value, std::string& repair,
                                               bool& broken) {
  simdjson::ondemand::json_type type;
  if (value.type().get(type) || type != simdjson::ondemand::json_type::string) return std::nullopt;
  const std::string_view token = value.raw_json_token();
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return text;
  if (unescape_json(token, repair)) return repair;
  broken = true;
  return std::nullopt;
}

// The same for a piece of a longer text: `cut` receives what is left at its ends of a pair of surrogates.
inline std::optional<std::string_view> piece_of(simdjson::ondemand::value& value, std::string& repair,
                                                bool& broken, CutPair& cut) {
  simdjson::ondemand::json_type type;
  if (value.type().get(type) || type != simdjson::ondemand::json_type::string) return std::nullopt;
  const std::string_view token = value.raw_json_token();
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return text;
  if (unescape_json_piece(token, repair, cut)) return repair;
  broken = true;
  return std::nullopt;
}

// Calls `take` with each member of an object. False: not an object.
template <typename Take>
bool each_member(simdjson::ondemand::value value, Take&& take) {
  simdjson::ondemand::object members;
  if (value.get_object().get(members)) return false;
  for (auto entry : members) {
    simdjson::ondemand::field field;
    if (std::move(entry).get(field)) break;
    const simdjson::ondemand::raw_json_string key = field.key();
    take(key, field.value());
  }
  return true;
}

// 0 if the value is not a count.
std::uint64_t count_of(simdjson::ondemand::value& value) noexcept;

// The same, but empty if the value is not a count: null, a text, a negative number, or one of 10^15 or more.
std::optional<std::uint64_t> said_count(simdjson::ondemand::value& value) noexcept;

// The count of that name inside {"reasoning_tokens": ...} and similar objects; empty without one.
std::optional<std::uint64_t> detail_of(simdjson::ondemand::value value, std::string_view name);

// The text of an object, an array, a number or a boolean; empty for null. Valid until the next parse.
std::string_view json_of(simdjson::ondemand::value& value) noexcept;

}  // namespace agentcore::detail::llm
