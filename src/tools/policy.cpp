// The names of permissions and scopes.
#include "core/enum_names.hpp"

#include <agentcore/tool_policy.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames permission_names{std::to_array<detail::core::EnumName<Permission>>(
    {{Permission::allow, "allow"}, {Permission::ask, "ask"}, {Permission::deny, "deny"}})};
static_assert(permission_names.is_in_order());

constexpr detail::core::EnumNames scope_names{std::to_array<detail::core::EnumName<GrantScope>>(
    {{GrantScope::once, "once"}, {GrantScope::agent, "agent"}, {GrantScope::subtree, "subtree"}})};
static_assert(scope_names.is_in_order());

}  // namespace

std::string_view to_string(Permission permission) noexcept {
  return permission_names.name(permission);
}

std::string_view to_string(GrantScope scope) noexcept {
  return scope_names.name(scope);
}

}  // namespace agentcore
