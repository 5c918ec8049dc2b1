// Members of a JSON object that a server sent: a member that is missing, or of another type, is the default.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace console_app::top {

using Json = nlohmann::json;

inline const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

inline std::string text_in(const Json& object, std::string_view name) {
  const Json* const value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

inline std::uint64_t number_in(const Json& object, std::string_view name) {
  const Json* const value = member(object, name);
  if (value == nullptr || !value->is_number_integer()) return 0;
  return value->is_number_unsigned() || value->get<std::int64_t>() > 0 ? value->get<std::uint64_t>() : 0;
}

inline bool flag_in(const Json& object, std::string_view name) {
  const Json* const value = member(object, name);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// An empty list if there is none.
inline const Json& list_in(const Json& object, std::string_view name) {
  static const Json none = Json::array();
  const Json* const value = member(object, name);
  return value != nullptr && value->is_array() ? *value : none;
}

}  // namespace console_app::top
