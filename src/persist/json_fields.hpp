// Writes and reads members of JSON objects that may be left out.
#pragma once

#include "core/json_depth.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/clock.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::persist {

using nlohmann::json;

// Throws json::exception if the text is no JSON object, or nested so deep that to write it would overflow the
// stack.
inline json parse_object(std::string_view text) {
  if (core::json_depth(text) > core::max_json_depth)
    throw json::other_error::create(501, "the record is nested too deep", static_cast<const json*>(nullptr));
  json object = json::parse(text);
  if (!object.is_object()) throw json::other_error::create(501, "the record is not a JSON object", &object);
  return object;
}

// Leaves out a value that equals `usual`.
template <typename T>
void put(json& object, const char* name, const T& value, const std::type_identity_t<T>& usual = {}) {
  if (!(value == usual)) object[name] = value;
}
template <typename Enum>
requires std::is_enum_v<Enum>
void put_enum(json& object, const char* name, Enum value, Enum usual) {
  if (value != usual) object[name] = static_cast<int>(value);
}
template <typename T>
void put(json& object, const char* name, const std::optional<T>& value) {
  if (value) object[name] = *value;
}

// Keeps `value` if the object has no such member. A member of another type throws json::exception.
template <typename T>
void get(const json& object, const char* name, T& value) {
  if (const auto found = object.find(name); found != object.end()) found->get_to(value);
}
template <typename T>
void get(const json& object, const char* name, std::optional<T>& value) {
  if (const auto found = object.find(name); found != object.end()) value = found->get<T>();
}
// `last`: the greatest enumerator. A number beyond it throws json::exception.
template <typename Enum>
void get_enum(const json& object, const char* name, Enum& value, Enum last) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  const auto number = found->get<std::uint64_t>();
  if (number > static_cast<std::uint64_t>(last))
    throw json::other_error::create(501, std::string(name) + " has an unknown value", found.operator->());
  value = static_cast<Enum>(number);
}

// In nanoseconds.
inline void put_duration(json& object, const char* name, Duration value, Duration usual) {
  if (value != usual) object[name] = value.count();
}
inline void get_duration(const json& object, const char* name, Duration& value) {
  if (const auto found = object.find(name); found != object.end())
    value = Duration(found->get<Duration::rep>());
}

json budget_json(const Budget& budget);
Budget read_budget(const json& object);

}  // namespace agentcore::detail::persist
