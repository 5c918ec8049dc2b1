#include "llm/dialects/ondemand.hpp"

namespace agentcore::detail::llm {

namespace json = simdjson::ondemand;

std::optional<std::uint64_t> said_count(json::value& value) noexcept {
  constexpr std::uint64_t most = 1'000'000'000'000'000;
  std::uint64_t count = 0;
  if (value.get_uint64().get(count) == simdjson::SUCCESS)
    return count < most ? std::optional(count) : std::nullopt;
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS && number >= 0 &&
      number < static_cast<double>(most))
    return static_cast<std::uint64_t>(number);
  return std::nullopt;
}

std::uint64_t count_of(json::value& value) noexcept {
  return said_count(value).value_or(0);
}

std::optional<std::uint64_t> detail_of(json::value value, std::string_view name) {
  std::optional<std::uint64_t> count;
  each_member(value, [&](const json::raw_json_string& key, json::value member) {
    if (key.unsafe_is_equal(name)) count = said_count(member);
  });
  return count;
}

std::string_view json_of(json::value& value) noexcept {
  json::json_type type;
  std::string_view text;
  if (value.type().get(type) || type == json::json_type::null) return text;
  if (type == json::json_type::object) {
    json::object object;
    if (value.get_object().get(object) || object.raw_json().get(text)) return {};
  } else if (type == json::json_type::array) {
    json::array array;
    if (value.get_array().get(array) || array.raw_json().get(text)) return {};
  } else {
    text = value.raw_json_token();
  }
  const auto last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last + 1);
}

}  // namespace agentcore::detail::llm
