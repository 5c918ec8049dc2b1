// The check of a value and of what is in it against a schema that valijson compiled. For schema.cpp alone.
#pragma once

#include "tools/schema_value_checker.hpp"

#include <set>
#include <string>

namespace agentcore::tools {

// Checks one value against one schema and, through others of its kind, what is in them. Without a place for
// the reason nobody reads it, and none is made.
class Checker final : public ValueChecker {
 public:
  using ValueChecker::ValueChecker;
  using ValueChecker::visit;

  bool fits(const Subschema& schema) {
    if (run_.refused || !run_.spend(1)) return false;
    if (schema.getAlwaysInvalid()) return says(" is not allowed");
    if (run_.nested >= max_nested_checks) {
      run_.refused = "params is nested too deeply for its schema";
      return false;
    }
    ++run_.nested;
    Subschema::ApplyFunction each = [this](const Subschema::Constraint& constraint) {
      return run_.spend(1) && constraint.accept(*this);
    };
    const bool fitting = schema.applyStrict(each);
    --run_.nested;
    return fitting;
  }

  // Schemas within.
  bool visit(const AllOfConstraint& c) override {
    bool all = true;
    c.applyToSubschemas([&](unsigned, const Subschema* schema) { return all = same(*schema); });
    return all;
  }

  bool visit(const AnyOfConstraint& c) override {
    std::string reasons;
    std::size_t tried = 0;
    bool any = false;
    c.applyToSubschemas([&](unsigned, const Subschema* schema) {
      return !(any = alternative(*schema, reasons, tried)) && !run_.refused;
    });
    return any || says(": fits none of the alternatives: ", reasons);
  }

  bool visit(const OneOfConstraint& c) override {
    std::string reasons;
    std::size_t tried = 0, fitting = 0;
    c.applyToSubschemas([&](unsigned, const Subschema* schema) {
      fitting += alternative(*schema, reasons, tried);
      return fitting < 2 && !run_.refused;
    });
    if (fitting == 0) return says(": fits none of the alternatives: ", reasons);
    return fitting == 1 || says(": fits more than one of the alternatives; it must fit exactly one");
  }

  bool visit(const NotConstraint& c) override {
    const bool fitting = !c.getSubschema() || quiet(value_, *c.getSubschema());
    return !fitting || says(": must not be of this form");
  }

  bool visit(const ConditionalConstraint& c) override {
    const Subschema* const then =
        quiet(value_, *c.getIfSubschema()) ? c.getThenSubschema() : c.getElseSubschema();
    return !then || same(*then);
  }

  // Objects.
  bool visit(const PropertiesConstraint& c) override {
    if (!value_.is_object()) return true;
    std::set<std::string> matched;
    bool all = true;
    c.applyToProperties([&](const auto& key, const Subschema* schema) {
      if (!run_.spend(1)) return all = false;
      const auto found = value_.find(plain(key));
      if (found == value_.end()) return true;
      matched.insert(found.key());
      return all = member(found.key(), *found, *schema);
    });
    if (!all) return false;
    c.applyToPatternProperties([&](const auto& key, const Subschema* schema) {
      return all = matching_members(plain(key), *schema, matched);
    });
    return all && other_members(c.getAdditionalPropertiesSubschema(), matched);
  }

  bool visit(const RequiredConstraint& c) override {
    bool all = true;
    c.applyToRequiredProperties([&](const auto& key) { return all = has(plain(key), " is required"); });
    return all;
  }

  bool visit(const DependenciesConstraint& c) override {
    if (!value_.is_object()) return true;
    bool all = true;
    c.applyToPropertyDependencies([&](const auto& key, const auto& needed) {
      if (!value_.contains(plain(key))) return true;
      for (const auto& name : needed)
        if (all) all = has(plain(name), " is required with " + to_words(json(plain(key))));
      return all;
    });
    if (!all) return false;
    c.applyToSchemaDependencies([&](const auto& key, const Subschema* schema) {
      return all = !value_.contains(plain(key)) || same(*schema);
    });
    return all;
  }

  bool visit(const PropertyNamesConstraint& c) override {
    if (!value_.is_object()) return true;
    for (const auto& [key, value] : value_.items())
      if (!quiet(json(key), *c.getSubschema())) return says_of(key, ": its name is not allowed");
    return true;
  }

  // Arrays.
  bool visit(const SingularItemsConstraint& c) override {
    return !value_.is_array() || !c.getItemsSubschema() || items_from(0, *c.getItemsSubschema());
  }

  bool visit(const LinearItemsConstraint& c) override {
    if (!value_.is_array()) return true;
    bool all = true;
    c.applyToItemSubschemas([&](unsigned index, const Subschema* schema) {
      return index < value_.size() && (all = item(index, *schema));
    });
    if (!all || value_.size() <= c.getItemSubschemaCount()) return all;
    const Subschema* const rest = c.getAdditionalItemsSubschema();
    return rest ? items_from(c.getItemSubschemaCount(), *rest)
                : at_most(value_.size(), c.getItemSubschemaCount(), "item");
  }

  bool visit(const ContainsConstraint& c) override {
    if (!value_.is_array()) return true;
    for (const json& part : value_)
      if (quiet(part, *c.getSubschema())) return true;
    return says(": none of its items is of the form that one must have");
  }

 private:
  bool same(const Subschema& schema) { return Checker(value_, place_, run_, reason_).fits(schema); }
  bool quiet(const json& value, const Subschema& schema) {
    return Checker(value, place_, run_, nullptr).fits(schema);
  }
  bool member(const std::string& key, const json& value, const Subschema& schema) {
    return Checker(value, {&place_, &key, 0}, run_, reason_).fits(schema);
  }
  bool item(std::size_t index, const Subschema& schema) {
    return Checker(value_[index], {&place_, nullptr, index}, run_, reason_).fits(schema);
  }
  bool items_from(std::size_t index, const Subschema& schema) {
    for (; index < value_.size(); ++index)
      if (!item(index, schema)) return false;
    return true;
  }

  // Gathers why it does not fit.
  bool alternative(const Subschema& schema, std::string& reasons, std::size_t& tried) {
    std::string reason;
    const bool named = reason_ && ++tried <= max_alternatives;
    if (Checker(value_, place_, run_, named ? &reason : nullptr).fits(schema)) return true;
    if (named) reasons += (tried > 1 ? "; " : "") + reason;
    return false;
  }

  bool has(const std::string& key, const std::string& words) {
    return !value_.is_object() || (run_.spend(1) && (value_.contains(key) || says_of(key, words)));
  }

  bool matching_members(const std::string& pattern, const Subschema& schema, std::set<std::string>& matched) {
    for (const auto& [key, value] : value_.items()) {
      bool matches = false;
      if (!match(pattern, key, matches)) return says_of(key, too_long);
      if (!matches) continue;
      matched.insert(key);
      if (!member(key, value, schema)) return false;
    }
    return true;
  }

  bool other_members(const Subschema* schema, const std::set<std::string>& matched) {
    for (const auto& [key, value] : value_.items()) {
      if (matched.contains(key)) continue;
      if (!schema) return says_of(key, " is not allowed");
      if (!member(key, value, *schema)) return false;
    }
    return true;
  }
};

}  // namespace agentcore::tools
