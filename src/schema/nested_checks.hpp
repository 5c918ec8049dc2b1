// Checks of the contents of a value, and of combined schemas: one check() for each constraint that holds
// schemas. For schema.cpp alone.
#pragma once

#include "schema/value_checks.hpp"

#include <set>
#include <string>

namespace agentcore::detail::schema {

using valijson::Subschema;

inline constexpr std::size_t max_alternatives = 4;  // of `anyOf` in a reason

// True if the value fits; if not, writes the reason, if there is an output for it.
bool fits(const CheckedValue& v, const Subschema& schema);

// Converts valijson's strings, which have an allocator of their own.
std::string plain(const auto& name) {
  return std::string(name.data(), name.size());
}

// Like fits() for another value, without a reason.
inline bool fits_silently(const CheckedValue& v, const json& value, const Subschema& schema) {
  return fits({value, v.place, v.run, nullptr}, schema);
}

inline bool member_fits(const CheckedValue& v, const std::string& key, const json& value,
                        const Subschema& schema) {
  return fits({value, {&v.place, &key, 0}, v.run, v.reason}, schema);
}

inline bool item_fits(const CheckedValue& v, std::size_t index, const Subschema& schema) {
  return fits({v.value[index], {&v.place, nullptr, index}, v.run, v.reason}, schema);
}

inline bool items_fit_from(const CheckedValue& v, std::size_t index, const Subschema& schema) {
  for (; index < v.value.size(); ++index)
    if (!item_fits(v, index, schema)) return false;
  return true;
}

// Like fits(), and adds the reason to those of the earlier alternatives.
inline bool fits_alternative(const CheckedValue& v, const Subschema& schema, std::string& reasons,
                             std::size_t& tried) {
  std::string reason;
  const bool named = v.reason && ++tried <= max_alternatives;
  if (fits({v.value, v.place, v.run, named ? &reason : nullptr}, schema)) return true;
  if (named) reasons += (tried > 1 ? "; " : "") + reason;
  return false;
}

inline bool has_member(const CheckedValue& v, const std::string& key, const std::string& words) {
  return !v.value.is_object() || (v.run.spend(1) && (v.value.contains(key) || v.fail_of_member(key, words)));
}

inline bool matching_members_fit(const CheckedValue& v, const std::string& pattern, const Subschema& schema,
                                 std::set<std::string>& matched) {
  for (const auto& [key, value] : v.value.items()) {
    const PatternMatch found = v.match(pattern, key);
    if (found == PatternMatch::too_long) return v.fail_of_member(key, too_long_to_match);
    if (found == PatternMatch::differs) continue;
    matched.insert(key);
    if (!member_fits(v, key, value, schema)) return false;
  }
  return true;
}

inline bool other_members_fit(const CheckedValue& v, const Subschema* schema,
                              const std::set<std::string>& matched) {
  for (const auto& [key, value] : v.value.items()) {
    if (matched.contains(key)) continue;
    if (!schema) return v.fail_of_member(key, " is not allowed");
    if (!member_fits(v, key, value, *schema)) return false;
  }
  return true;
}

// Combined schemas.
inline bool check(const CheckedValue& v, const AllOfConstraint& c) {
  bool all = true;
  c.applyToSubschemas([&](unsigned, const Subschema* schema) { return all = fits(v, *schema); });
  return all;
}

inline bool check(const CheckedValue& v, const AnyOfConstraint& c) {
  std::string reasons;
  std::size_t tried = 0;
  bool any = false;
  c.applyToSubschemas([&](unsigned, const Subschema* schema) {
    return !(any = fits_alternative(v, *schema, reasons, tried)) && !v.run.refused;
  });
  return any || v.fail(": fits none of the alternatives: ", reasons);
}

inline bool check(const CheckedValue& v, const OneOfConstraint& c) {
  std::string reasons;
  std::size_t tried = 0, fitting = 0;
  c.applyToSubschemas([&](unsigned, const Subschema* schema) {
    fitting += fits_alternative(v, *schema, reasons, tried);
    return fitting < 2 && !v.run.refused;
  });
  if (fitting == 0) return v.fail(": fits none of the alternatives: ", reasons);
  return fitting == 1 || v.fail(": fits more than one of the alternatives; it must fit exactly one");
}

inline bool check(const CheckedValue& v, const NotConstraint& c) {
  const bool fitting = !c.getSubschema() || fits_silently(v, v.value, *c.getSubschema());
  return !fitting || v.fail(": must not be of this form");
}

inline bool check(const CheckedValue& v, const ConditionalConstraint& c) {
  const Subschema* const then =
      fits_silently(v, v.value, *c.getIfSubschema()) ? c.getThenSubschema() : c.getElseSubschema();
  return !then || fits(v, *then);
}

// Objects.
inline bool check(const CheckedValue& v, const PropertiesConstraint& c) {
  if (!v.value.is_object()) return true;
  std::set<std::string> matched;
  bool all = true;
  c.applyToProperties([&](const auto& key, const Subschema* schema) {
    if (!v.run.spend(1)) return all = false;
    const auto found = v.value.find(plain(key));
    if (found == v.value.end()) return true;
    matched.insert(found.key());
    return all = member_fits(v, found.key(), *found, *schema);
  });
  if (!all) return false;
  c.applyToPatternProperties([&](const auto& key, const Subschema* schema) {
    return all = matching_members_fit(v, plain(key), *schema, matched);
  });
  return all && other_members_fit(v, c.getAdditionalPropertiesSubschema(), matched);
}

inline bool check(const CheckedValue& v, const RequiredConstraint& c) {
  bool all = true;
  c.applyToRequiredProperties(
      [&](const auto& key) { return all = has_member(v, plain(key), " is required"); });
  return all;
}

inline bool check(const CheckedValue& v, const DependenciesConstraint& c) {
  if (!v.value.is_object()) return true;
  bool all = true;
  c.applyToPropertyDependencies([&](const auto& key, const auto& needed) {
    if (!v.value.contains(plain(key))) return true;
    for (const auto& name : needed)
      if (all) all = has_member(v, plain(name), " is required with " + to_words(json(plain(key))));
    return all;
  });
  if (!all) return false;
  c.applyToSchemaDependencies([&](const auto& key, const Subschema* schema) {
    return all = !v.value.contains(plain(key)) || fits(v, *schema);
  });
  return all;
}

inline bool check(const CheckedValue& v, const PropertyNamesConstraint& c) {
  if (!v.value.is_object()) return true;
  for (const auto& [key, value] : v.value.items())
    if (!fits_silently(v, json(key), *c.getSubschema()))
      return v.fail_of_member(key, ": its name is not allowed");
  return true;
}

// Arrays.
inline bool check(const CheckedValue& v, const SingularItemsConstraint& c) {
  return !v.value.is_array() || !c.getItemsSubschema() || items_fit_from(v, 0, *c.getItemsSubschema());
}

inline bool check(const CheckedValue& v, const LinearItemsConstraint& c) {
  if (!v.value.is_array()) return true;
  bool all = true;
  c.applyToItemSubschemas([&](unsigned index, const Subschema* schema) {
    return index < v.value.size() && (all = item_fits(v, index, *schema));
  });
  if (!all || v.value.size() <= c.getItemSubschemaCount()) return all;
  const Subschema* const rest = c.getAdditionalItemsSubschema();
  return rest ? items_fit_from(v, c.getItemSubschemaCount(), *rest)
              : v.at_most(v.value.size(), c.getItemSubschemaCount(), "item");
}

inline bool check(const CheckedValue& v, const ContainsConstraint& c) {
  if (!v.value.is_array()) return true;
  for (const json& part : v.value)
    if (fits_silently(v, part, *c.getSubschema())) return true;
  return v.fail(": none of its items is of the form that one must have");
}

}  // namespace agentcore::detail::schema
