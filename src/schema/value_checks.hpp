// Checks of a value by itself, without its contents: one check() for each constraint that valijson compiles.
// For schema.cpp alone.
#pragma once

#include "schema/checked_value.hpp"
#include "schema/date_time.hpp"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/constraints/concrete_constraints.hpp>
#include <valijson/schema.hpp>

namespace agentcore::detail::schema {

using namespace valijson::constraints;
using valijson::adapters::NlohmannJsonAdapter;

inline constexpr std::size_t max_listed = 16;  // values of an `enum` in a reason

inline std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

// 1.0 is an integer, according to draft 6 and later.
inline bool is_integer(const json& value) {
  return value.is_number_integer() ||
         (value.is_number() && std::trunc(value.get<double>()) == value.get<double>());
}

inline const char* example_of(const std::string& format) {
  if (format == "date") return "2024-05-31";
  return format == "time" ? "16:52:45Z" : "2024-05-31T16:52:45Z";
}

inline const std::string& text_of(const CheckedValue& v) {
  return v.value.get_ref<const std::string&>();
}

inline bool is_of(const json& value, TypeConstraint::JsonType type) {
  switch (type) {
    case TypeConstraint::kAny:
      return true;
    case TypeConstraint::kArray:
      return value.is_array();
    case TypeConstraint::kBoolean:
      return value.is_boolean();
    case TypeConstraint::kInteger:
      return is_integer(value);
    case TypeConstraint::kNull:
      return value.is_null();
    case TypeConstraint::kNumber:
      return value.is_number();
    case TypeConstraint::kObject:
      return value.is_object();
    case TypeConstraint::kString:
      return value.is_string();
  }
  return false;
}

inline std::string name_of(TypeConstraint::JsonType type) {
  switch (type) {
    case TypeConstraint::kAny:
      return "any value";
    case TypeConstraint::kArray:
      return "array";
    case TypeConstraint::kBoolean:
      return "boolean";
    case TypeConstraint::kInteger:
      return "integer";
    case TypeConstraint::kNull:
      return "null";
    case TypeConstraint::kNumber:
      return "number";
    case TypeConstraint::kObject:
      return "object";
    case TypeConstraint::kString:
      return "string";
  }
  return {};
}

// The values of an `enum`, as a list. The compiled constraint can compare its values, but not write them.
inline std::string allowed(const CheckedValue& v, const EnumConstraint& c) {
  std::set<std::string> words;
  for (const json& known : v.run.facts.constants) {
    if (words.size() > max_listed) break;
    c.applyToValues([&](const auto& value) {
      if (!value.equalTo(NlohmannJsonAdapter(known), true)) return true;
      words.insert(to_words(known));
      return false;
    });
  }
  std::string list;
  std::size_t listed = 0;
  for (const std::string& word : words) {
    if (listed > 0) list += ", ";
    list += listed == max_listed ? "..." : word;
    ++listed;
  }
  return list;
}

inline bool multiple_of(const CheckedValue& v, double divisor, bool known_not) {
  if (!v.value.is_number()) return true;
  constexpr double rounding = 1e-9;
  const double rest = std::abs(std::remainder(v.value.get<double>(), divisor));
  return (!known_not && rest <= divisor * rounding) || v.fail(": must be a multiple of ", to_words(divisor));
}

inline bool check(const CheckedValue& v, const TypeConstraint& c) {
  std::string types;
  bool any = false;
  c.applyToNamedTypes([&](TypeConstraint::JsonType type) {
    any = any || is_of(v.value, type);
    types += (types.empty() ? "" : " or ") + name_of(type);
    return true;
  });
  return any || v.fail(" must be ", types);
}

inline bool check(const CheckedValue& v, const EnumConstraint& c) {
  bool any = false;
  c.applyToValues([&](const auto& value) {
    return v.run.spend(1) && !(any = value.equalTo(NlohmannJsonAdapter(v.value), true));
  });
  return any || !v.reason || v.fail(": must be one of ", allowed(v, c));
}

inline bool check(const CheckedValue& v, const ConstConstraint& c) {
  const valijson::adapters::FrozenValue& constant = *c.getValue();
  if (constant.equalTo(NlohmannJsonAdapter(v.value), true)) return true;
  for (const json& known : v.run.facts.constants)
    if (constant.equalTo(NlohmannJsonAdapter(known), true)) return v.fail(": must be ", to_words(known));
  return v.fail(": must be another value");
}

inline bool check(const CheckedValue& v, const MinimumConstraint& c) {
  if (!v.value.is_number()) return true;
  const double number = v.value.get<double>(), least = c.getMinimum();
  if (c.getExclusiveMinimum()) return number > least || v.fail(": must be more than ", to_words(least));
  return number >= least || v.fail(": must be at least ", to_words(least));
}

inline bool check(const CheckedValue& v, const MaximumConstraint& c) {
  if (!v.value.is_number()) return true;
  const double number = v.value.get<double>(), most = c.getMaximum();
  if (c.getExclusiveMaximum()) return number < most || v.fail(": must be less than ", to_words(most));
  return number <= most || v.fail(": must be at most ", to_words(most));
}

inline bool check(const CheckedValue& v, const MultipleOfIntConstraint& c) {
  if (v.value.is_number_unsigned() &&
      v.value.get<std::uint64_t>() % static_cast<std::uint64_t>(c.getDivisor()) == 0)
    return true;
  if (v.value.is_number_integer() && !v.value.is_number_unsigned() &&
      v.value.get<std::int64_t>() % c.getDivisor() == 0)
    return true;
  return multiple_of(v, static_cast<double>(c.getDivisor()), v.value.is_number_integer());
}

inline bool check(const CheckedValue& v, const MultipleOfDoubleConstraint& c) {
  return multiple_of(v, c.getDivisor(), false);
}

inline bool check(const CheckedValue& v, const MinLengthConstraint& c) {
  return !v.value.is_string() || v.at_least(characters(text_of(v)), c.getMinLength(), "character");
}

inline bool check(const CheckedValue& v, const MaxLengthConstraint& c) {
  return !v.value.is_string() || v.at_most(characters(text_of(v)), c.getMaxLength(), "character");
}

inline bool check(const CheckedValue& v, const PatternConstraint& c) {
  if (!v.value.is_string()) return true;
  const std::string pattern = c.getPattern<std::string::allocator_type>();
  switch (v.match(pattern, text_of(v))) {
    case PatternMatch::matches:
      return true;
    case PatternMatch::differs:
      return v.fail(": must match the pattern ", pattern);
    case PatternMatch::too_long:
      break;
  }
  return v.fail(too_long_to_match);
}

inline bool check(const CheckedValue& v, const FormatConstraint& c) {
  if (!v.value.is_string()) return true;
  const std::string& format = c.getFormat();
  if (has_format(text_of(v), format)) return true;
  return v.fail(": must be a " + format + " as in RFC 3339, like ", example_of(format));
}

// Constraints of applications; there are none.
inline bool check(const CheckedValue&, const PolyConstraint&) {
  return true;
}

inline bool check(const CheckedValue& v, const MinPropertiesConstraint& c) {
  return !v.value.is_object() || v.at_least(v.value.size(), c.getMinProperties(), "member");
}

inline bool check(const CheckedValue& v, const MaxPropertiesConstraint& c) {
  return !v.value.is_object() || v.at_most(v.value.size(), c.getMaxProperties(), "member");
}

inline bool check(const CheckedValue& v, const UniqueItemsConstraint&) {
  if (!v.value.is_array()) return true;
  if (!v.run.spend(v.value.size())) return false;
  // A set stays within its bounds even for numbers whose order is not transitive after rounding.
  const auto less = [](const json* a, const json* b) { return *a < *b; };
  std::set<const json*, decltype(less)> seen(less);
  for (const json& part : v.value)
    if (!seen.insert(&part).second) return v.fail(": its items must all differ");
  return true;
}

inline bool check(const CheckedValue& v, const MinItemsConstraint& c) {
  return !v.value.is_array() || v.at_least(v.value.size(), c.getMinItems(), "item");
}

inline bool check(const CheckedValue& v, const MaxItemsConstraint& c) {
  return !v.value.is_array() || v.at_most(v.value.size(), c.getMaxItems(), "item");
}

}  // namespace agentcore::detail::schema
