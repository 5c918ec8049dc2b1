// fits(): checks a value against a schema that valijson compiled. valijson's own visitor is not used: it
// limits neither depth nor work, throws, and its messages are for programmers. For schema.cpp alone.
#pragma once

#include "schema/nested_checks.hpp"

namespace agentcore::detail::schema {

// Limit of schemas within schemas; each takes some stack frames.
inline constexpr std::size_t max_nested_checks = 256;

// Overrides one visit() for each constraint: calls the check() of that constraint.
template <typename Base, typename... Constraints>
class Visitor : public Base {
 public:
  using Base::Base;
};

template <typename Base, typename First, typename... Rest>
class Visitor<Base, First, Rest...> : public Visitor<Base, Rest...> {
 public:
  using Visitor<Base, Rest...>::Visitor;
  using Visitor<Base, Rest...>::visit;
  bool visit(const First& constraint) override { return check(this->checked(), constraint); }
};

class VisitorOfValue : public ConstraintVisitor {
 public:
  explicit VisitorOfValue(const CheckedValue& checked) : checked_(checked) {}
  const CheckedValue& checked() const { return checked_; }

 private:
  const CheckedValue& checked_;
};

using Checker =
    Visitor<VisitorOfValue, AllOfConstraint, AnyOfConstraint, ConditionalConstraint, ConstConstraint,
            ContainsConstraint, DependenciesConstraint, EnumConstraint, FormatConstraint,
            LinearItemsConstraint, MaximumConstraint, MaxItemsConstraint, MaxLengthConstraint,
            MaxPropertiesConstraint, MinimumConstraint, MinItemsConstraint, MinLengthConstraint,
            MinPropertiesConstraint, MultipleOfDoubleConstraint, MultipleOfIntConstraint, NotConstraint,
            OneOfConstraint, PatternConstraint, PolyConstraint, PropertiesConstraint, PropertyNamesConstraint,
            RequiredConstraint, SingularItemsConstraint, TypeConstraint, UniqueItemsConstraint>;

inline bool fits(const CheckedValue& v, const Subschema& schema) {
  if (v.run.refused || !v.run.spend(1)) return false;
  if (schema.getAlwaysInvalid()) return v.fail(" is not allowed");
  if (v.run.nested >= max_nested_checks) {
    v.run.refused = " is nested too deeply for its schema";
    return false;
  }
  ++v.run.nested;
  Checker checker(v);
  Subschema::ApplyFunction each = [&](const Subschema::Constraint& constraint) {
    return v.run.spend(1) && constraint.accept(checker);
  };
  const bool fitting = schema.applyStrict(each);
  --v.run.nested;
  return fitting;
}

}  // namespace agentcore::detail::schema
