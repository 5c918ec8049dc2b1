// The check of a value against a schema that valijson compiled. A visitor of our own, because valijson's
// bounds neither depth nor work, throws, and speaks to programmers. For schema.cpp alone.
#pragma once

#include "tools/date_time.hpp"
#include "tools/schema.hpp"
#include "tools/schema_facts.hpp"
#include "tools/schema_words.hpp"

#include <cmath>
#include <cstdint>
#include <set>
#include <string>

#ifndef VALIJSON_USE_EXCEPTIONS
#define VALIJSON_USE_EXCEPTIONS 1
#endif
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>

namespace agentcore::tools {

using nlohmann::json;
using valijson::Subschema;
using valijson::adapters::NlohmannJsonAdapter;

inline constexpr std::size_t max_nested_checks =
    256;                                       // of schemas within schemas; each is some frames on the stack
inline constexpr std::size_t max_listed = 16;  // values of an `enum` in a reason
inline constexpr std::size_t max_alternatives = 4;  // of `anyOf` in a reason
inline constexpr std::size_t max_reason = 800;      // bytes

// What one check shares.
struct CheckRun {
  const SchemaFacts& facts;
  std::size_t steps = 0;
  std::size_t nested = 0;
  const char* refused = nullptr;  // out of bounds; then nothing fits any more

  bool spend(std::size_t cost) {
    steps += cost;
    if (steps > max_check_steps) refused = "params takes too long to check: make it smaller";
    return !refused;
  }
};

inline std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  return count;
}

// 1.0 is an integer, as from draft 6 on.
inline bool is_integer(const json& value) {
  return value.is_number_integer() ||
         (value.is_number() && std::trunc(value.get<double>()) == value.get<double>());
}

// From valijson's strings, which have an allocator of their own.
std::string plain(const auto& name) {
  return std::string(name.data(), name.size());
}

// What a value is by itself, without what is in it.
class ValueChecker : public valijson::constraints::ConstraintVisitor {
 public:
  ValueChecker(const json& value, const Place& place, CheckRun& run, std::string* reason)
      : value_(value), place_(place), run_(run), reason_(reason) {}

  bool visit(const TypeConstraint& c) override {
    std::string types;
    bool any = false;
    c.applyToNamedTypes([&](TypeConstraint::JsonType type) {
      any = any || is_of(type);
      types += (types.empty() ? "" : " or ") + name_of(type);
      return true;
    });
    return any || says(" must be ", types);
  }

  bool visit(const EnumConstraint& c) override {
    bool any = false;
    c.applyToValues([&](const auto& value) {
      return run_.spend(1) && !(any = value.equalTo(NlohmannJsonAdapter(value_), true));
    });
    return any || !reason_ || says(": must be one of ", allowed(c));
  }

  bool visit(const ConstConstraint& c) override {
    const valijson::adapters::FrozenValue& constant = *c.getValue();
    if (constant.equalTo(NlohmannJsonAdapter(value_), true)) return true;
    for (const json& known : run_.facts.constants)
      if (constant.equalTo(NlohmannJsonAdapter(known), true)) return says(": must be ", to_words(known));
    return says(": must be another value");
  }

  bool visit(const MinimumConstraint& c) override {
    if (!value_.is_number()) return true;
    const double number = value_.get<double>(), least = c.getMinimum();
    if (c.getExclusiveMinimum()) return number > least || says(": must be more than ", to_words(least));
    return number >= least || says(": must be at least ", to_words(least));
  }

  bool visit(const MaximumConstraint& c) override {
    if (!value_.is_number()) return true;
    const double number = value_.get<double>(), most = c.getMaximum();
    if (c.getExclusiveMaximum()) return number < most || says(": must be less than ", to_words(most));
    return number <= most || says(": must be at most ", to_words(most));
  }

  bool visit(const MultipleOfIntConstraint& c) override {
    if (value_.is_number_unsigned() &&
        value_.get<std::uint64_t>() % static_cast<std::uint64_t>(c.getDivisor()) == 0)
      return true;
    if (value_.is_number_integer() && !value_.is_number_unsigned() &&
        value_.get<std::int64_t>() % c.getDivisor() == 0)
      return true;
    return multiple_of(static_cast<double>(c.getDivisor()), value_.is_number_integer());
  }
  bool visit(const MultipleOfDoubleConstraint& c) override { return multiple_of(c.getDivisor(), false); }

  bool visit(const MinLengthConstraint& c) override {
    return !value_.is_string() || at_least(characters(text()), c.getMinLength(), "character");
  }
  bool visit(const MaxLengthConstraint& c) override {
    return !value_.is_string() || at_most(characters(text()), c.getMaxLength(), "character");
  }

  bool visit(const PatternConstraint& c) override {
    if (!value_.is_string()) return true;
    const std::string pattern = c.getPattern<std::string::allocator_type>();
    bool matches = false;
    if (!match(pattern, text(), matches)) return says(too_long);
    return matches || says(": must match the pattern ", pattern);
  }

  bool visit(const FormatConstraint& c) override {
    if (!value_.is_string()) return true;
    const std::string& format = c.getFormat();
    if (has_format(text(), format)) return true;
    return says(": must be a " + format + " as in RFC 3339, like ", example_of(format));
  }

  bool visit(const PolyConstraint&) override { return true; }  // there are none

  bool visit(const MinPropertiesConstraint& c) override {
    return !value_.is_object() || at_least(value_.size(), c.getMinProperties(), "member");
  }
  bool visit(const MaxPropertiesConstraint& c) override {
    return !value_.is_object() || at_most(value_.size(), c.getMaxProperties(), "member");
  }
  bool visit(const UniqueItemsConstraint&) override {
    if (!value_.is_array()) return true;
    if (!run_.spend(value_.size())) return false;
    // A set stays in bounds even for numbers whose order is not transitive once they are rounded.
    const auto less = [](const json* a, const json* b) { return *a < *b; };
    std::set<const json*, decltype(less)> seen(less);
    for (const json& part : value_)
      if (!seen.insert(&part).second) return says(": its items must all differ");
    return true;
  }

  bool visit(const MinItemsConstraint& c) override {
    return !value_.is_array() || at_least(value_.size(), c.getMinItems(), "item");
  }
  bool visit(const MaxItemsConstraint& c) override {
    return !value_.is_array() || at_most(value_.size(), c.getMaxItems(), "item");
  }

 protected:
  static constexpr const char* too_long = ": is too long to be matched with its pattern";

  // Always false.
  bool says(const std::string& words, const std::string& more = {}) { return says_at(place_, words + more); }
  bool says_of(const std::string& key, const std::string& words) {
    return says_at({&place_, &key, 0}, words);
  }
  bool says_at(const Place& place, const std::string& words) {
    if (reason_ && !run_.refused) *reason_ = cut(to_words(place) + words, max_reason);
    return false;
  }

  // False if it is out of bounds.
  bool match(const std::string& pattern, const std::string& subject, bool& matches) {
    const auto found = run_.facts.patterns.find(pattern);
    if (found == run_.facts.patterns.end() || subject.size() > max_matched_bytes) return false;
    if (!run_.spend(found->second.steps(subject.size()))) return false;
    matches = found->second.matches(subject);
    return true;
  }

  bool at_least(std::size_t size, std::uint64_t least, const char* noun) {
    return size >= least || says(": must have at least ", count_words(least, noun));
  }
  bool at_most(std::size_t size, std::uint64_t most, const char* noun) {
    return size <= most || says(": must have at most ", count_words(most, noun));
  }

  const json& value_;
  const Place place_;
  CheckRun& run_;
  std::string* const reason_;

 private:
  static const char* example_of(const std::string& format) {
    if (format == "date") return "2024-05-31";
    return format == "time" ? "16:52:45Z" : "2024-05-31T16:52:45Z";
  }

  const std::string& text() const { return value_.get_ref<const std::string&>(); }

  bool is_of(TypeConstraint::JsonType type) const {
    switch (type) {
      case TypeConstraint::kAny:
        return true;
      case TypeConstraint::kArray:
        return value_.is_array();
      case TypeConstraint::kBoolean:
        return value_.is_boolean();
      case TypeConstraint::kInteger:
        return is_integer(value_);
      case TypeConstraint::kNull:
        return value_.is_null();
      case TypeConstraint::kNumber:
        return value_.is_number();
      case TypeConstraint::kObject:
        return value_.is_object();
      case TypeConstraint::kString:
        return value_.is_string();
    }
    return false;
  }

  static std::string name_of(TypeConstraint::JsonType type) {
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

  // The compiled constraint can compare its values, but not tell them.
  std::string allowed(const EnumConstraint& c) const {
    std::set<std::string> words;
    for (const json& known : run_.facts.constants) {
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

  bool multiple_of(double divisor, bool known_not) {
    if (!value_.is_number()) return true;
    constexpr double rounding = 1e-9;
    const double rest = std::abs(std::remainder(value_.get<double>(), divisor));
    return (!known_not && rest <= divisor * rounding) || says(": must be a multiple of ", to_words(divisor));
  }
};

}  // namespace agentcore::tools
