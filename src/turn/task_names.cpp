// The names of the kinds of operations, of late results, of the states of background tasks, and of why a
// model is asked again.
#include "core/enum_names.hpp"

#include <agentcore/event.hpp>

namespace agentcore {
namespace {

constexpr detail::core::EnumNames task_state_names{
    std::to_array<detail::core::EnumName<TaskState>>({{TaskState::started, "started"},
                                                      {TaskState::completed, "completed"},
                                                      {TaskState::failed, "failed"},
                                                      {TaskState::cancelled, "cancelled"}})};
static_assert(task_state_names.is_in_order());

constexpr detail::core::EnumNames task_kind_names{
    std::to_array<detail::core::EnumName<TaskKind>>({{TaskKind::turn, "turn"},
                                                     {TaskKind::model_call, "model_call"},
                                                     {TaskKind::tool_call, "tool_call"},
                                                     {TaskKind::background, "background"}})};
static_assert(task_kind_names.is_in_order());

constexpr detail::core::EnumNames late_result_names{
    std::to_array<detail::core::EnumName<LateResult>>({{LateResult::answer, "answer"},
                                                       {LateResult::failure, "failure"},
                                                       {LateResult::text, "text"},
                                                       {LateResult::tool_result, "tool_result"}})};
static_assert(late_result_names.is_in_order());

constexpr detail::core::EnumNames reask_names{
    std::to_array<detail::core::EnumName<ReaskCause>>({{ReaskCause::steered, "steered"},
                                                       {ReaskCause::unreadable_calls, "unreadable_calls"},
                                                       {ReaskCause::invalid_answer, "invalid_answer"}})};
static_assert(reask_names.is_in_order());

constexpr detail::core::EnumNames discard_reason_names{std::to_array<detail::core::EnumName<DiscardReason>>(
    {{DiscardReason::stopped, "stopped"},
     {DiscardReason::deleted, "deleted"},
     {DiscardReason::interrupted, "interrupted"},
     {DiscardReason::aborted, "aborted"},
     {DiscardReason::turn_over, "turn_over"},
     {DiscardReason::timed_out, "timed_out"},
     {DiscardReason::cancelled, "cancelled"},
     {DiscardReason::completed_by_host, "completed_by_host"},
     {DiscardReason::steered, "steered"},
     {DiscardReason::deadline_exceeded, "deadline_exceeded"},
     {DiscardReason::given_up, "given_up"}})};
static_assert(discard_reason_names.is_in_order());

constexpr detail::core::EnumNames window_close_reason_names{
    std::to_array<detail::core::EnumName<WindowCloseReason>>(
        {{WindowCloseReason::action, "action"},
         {WindowCloseReason::by_result, "by_result"},
         {WindowCloseReason::after_action, "after_action"}})};
static_assert(window_close_reason_names.is_in_order());

}  // namespace

std::string_view to_string(TaskState state) noexcept {
  return task_state_names.name(state);
}

std::string_view to_string(ReaskCause cause) noexcept {
  return reask_names.name(cause);
}

std::string_view to_string(TaskKind kind) noexcept {
  return task_kind_names.name(kind);
}

std::string_view to_string(LateResult kind) noexcept {
  return late_result_names.name(kind);
}

std::string_view to_string(WindowCloseReason reason) noexcept {
  return window_close_reason_names.name(reason);
}

std::string_view to_string(DiscardReason reason) noexcept {
  return discard_reason_names.name(reason);
}

}  // namespace agentcore
