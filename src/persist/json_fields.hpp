// Reads members of JSON objects that may be left out. A value of another type, or out of range, throws
// json::exception with the name of the member: the JSON library would convert 1.5 or true into an integer.
#pragma once

#include "persist/parsed_record.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/clock.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::persist {

[[noreturn]] inline void refuse_field(std::string_view name, std::string_view why) {
  throw json::other_error::create(501, std::string(name).append(" ").append(why),
                                  static_cast<const json*>(nullptr));
}

inline void read_value(const json& value, std::string_view name, bool& to) {
  if (!value.is_boolean()) refuse_field(name, "is neither true nor false");
  to = value.get<bool>();
}
inline void read_value(const json& value, std::string_view name, std::string& to) {
  if (!value.is_string()) refuse_field(name, "is not a string");
  to = value.get_ref<const std::string&>();
}
inline void read_value(const json& value, std::string_view name, double& to) {
  if (!value.is_number()) refuse_field(name, "is not a number");
  to = value.get<double>();
}
template <std::integral T>
requires(!std::same_as<T, bool>) void read_value(const json& value, std::string_view name, T& to) {
  if (!value.is_number_integer()) refuse_field(name, "is not an integer");
  const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                               : std::in_range<T>(value.get<std::int64_t>());
  if (!fits) refuse_field(name, "is out of range");
  to = value.get<T>();
}
template <typename T>
void read_value(const json& value, std::string_view name, std::vector<T>& to) {
  if (!value.is_array()) refuse_field(name, "is not an array");
  to.clear();
  for (const json& entry : value) read_value(entry, name, to.emplace_back());
}

// Keeps `value` if the object has no such member.
template <typename T>
void get(const json& object, const char* name, T& value) {
  if (const auto found = object.find(name); found != object.end()) read_value(*found, name, value);
}
template <typename T>
void get(const json& object, const char* name, std::optional<T>& value) {
  if (const auto found = object.find(name); found != object.end()) read_value(*found, name, value.emplace());
}
// The object must have the member.
inline const json& member_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse_field(name, "is missing");
  return *found;
}
template <typename T>
void need(const json& object, const char* name, T& value) {
  read_value(member_of(object, name), name, value);
}

template <typename Enum>
void read_enum(const json& value, std::string_view name, Enum& to, Enum last) {
  std::uint64_t number = 0;
  read_value(value, name, number);
  if (number > static_cast<std::uint64_t>(last)) refuse_field(name, "has an unknown value");
  to = static_cast<Enum>(number);
}
// `last`: the greatest enumerator.
template <typename Enum>
void get_enum(const json& object, const char* name, Enum& value, Enum last) {
  if (const auto found = object.find(name); found != object.end()) read_enum(*found, name, value, last);
}

// In nanoseconds.
inline void get_duration(const json& object, const char* name, Duration& value) {
  Duration::rep count = value.count();
  get(object, name, count);
  value = Duration(count);
}

// Calls read(member) if the object has it. The member must be an object.
template <typename Read>
void get_object(const json& object, const char* name, Read&& read) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  if (!found->is_object()) refuse_field(name, "is not an object");
  read(*found);
}
// Calls read(entry) for each entry of an array.
template <typename Read>
void read_each(const json& list, const char* name, Read&& read) {
  if (!list.is_array()) refuse_field(name, "is not an array");
  for (const json& entry : list) read(entry);
}
// The same for a member, if the object has it.
template <typename Read>
void get_each(const json& object, const char* name, Read&& read) {
  if (const auto found = object.find(name); found != object.end()) read_each(*found, name, read);
}

}  // namespace agentcore::detail::persist
