#include "core/enum_names.hpp"

#include <agentcore/chat.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames role_names{std::to_array<detail::core::EnumName<Role>>(
    {{Role::system, "system"}, {Role::user, "user"}, {Role::assistant, "assistant"}, {Role::tool, "tool"}})};
static_assert(role_names.is_in_order());

constexpr detail::core::EnumNames interruption_names{
    std::to_array<detail::core::EnumName<Interruption>>({{Interruption::none, "none"},
                                                         {Interruption::aborted, "aborted"},
                                                         {Interruption::stopped, "stopped"},
                                                         {Interruption::failed, "failed"},
                                                         {Interruption::interrupted, "interrupted"},
                                                         {Interruption::steered, "steered"},
                                                         {Interruption::truncated, "truncated"}})};
static_assert(interruption_names.is_in_order());

constexpr detail::core::EnumNames finish_reason_names{
    std::to_array<detail::core::EnumName<FinishReason>>({{FinishReason::unknown, "unknown"},
                                                         {FinishReason::complete, "complete"},
                                                         {FinishReason::length, "length"},
                                                         {FinishReason::content_filter, "content_filter"},
                                                         {FinishReason::tool_calls, "tool_calls"},
                                                         {FinishReason::refusal, "refusal"},
                                                         {FinishReason::other, "other"}})};
static_assert(finish_reason_names.is_in_order());

}  // namespace

std::string_view to_string(Role role) noexcept {
  return role_names.name(role);
}

std::string_view to_string(Interruption interruption) noexcept {
  return interruption_names.name(interruption);
}

std::string_view to_string(FinishReason reason) noexcept {
  return finish_reason_names.name(reason);
}

}  // namespace agentcore
