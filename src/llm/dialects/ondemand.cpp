#include "llm/dialects/ondemand.hpp"

namespace agentcore::llm {

namespace json = simdjson::ondemand;

std::uint64_t count_of(json::value& value) noexcept {
  std::uint64_t count = 0;
  if (value.get_uint64().get(count) == simdjson::SUCCESS) return count;
  double number = 0;
  if (value.get_double().get(number) == simdjson::SUCCESS && number >= 0 && number < 1e15)
    return static_cast<std::uint64_t>(number);
  return 0;
}

std::uint64_t detail_of(json::value value, std::string_view name) {
  std::uint64_t count = 0;
  each_member(value, [&](const json::raw_json_string& key, json::value member) {
    if (key.unsafe_is_equal(name)) count = count_of(member);
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

}  // namespace agentcore::llm
