// The names of priorities, of reasons for dropped messages and of how messages are steered, and the text of
// an id.
#include "core/enum_names.hpp"

#include <agentcore/message.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames priority_names{std::to_array<detail::core::EnumName<MessagePriority>>(
    {{MessagePriority::normal, "normal"}, {MessagePriority::urgent, "urgent"}})};
static_assert(priority_names.is_in_order());

constexpr detail::core::EnumNames drop_names{std::to_array<detail::core::EnumName<DropReason>>(
    {{DropReason::none, "none"},
     {DropReason::stopped, "stopped"},
     {DropReason::deleted, "deleted"},
     {DropReason::queue_cleared, "queue_cleared"},
     {DropReason::interrupted, "interrupted"},
     {DropReason::removed, "removed"},
     {DropReason::deadline_exceeded, "deadline_exceeded"}})};
static_assert(drop_names.is_in_order());

constexpr detail::core::EnumNames when_names{std::to_array<detail::core::EnumName<SteerWhen>>(
    {{SteerWhen::next_step, "next_step"}, {SteerWhen::now, "now"}})};
static_assert(when_names.is_in_order());

constexpr detail::core::EnumNames fallback_names{std::to_array<detail::core::EnumName<SteerFallback>>(
    {{SteerFallback::queue, "queue"}, {SteerFallback::give_back, "give_back"}})};
static_assert(fallback_names.is_in_order());

constexpr detail::core::EnumNames fate_names{std::to_array<detail::core::EnumName<SteerFate>>(
    {{SteerFate::delivered, "delivered"}, {SteerFate::queued, "queued"}, {SteerFate::returned, "returned"}})};
static_assert(fate_names.is_in_order());

}  // namespace

std::string to_string(MessageId id) {
  return id ? "m" + std::to_string(id.value) : std::string();
}

std::string_view to_string(MessagePriority priority) noexcept {
  return priority_names.name(priority);
}

std::string_view to_string(SteerWhen when) noexcept {
  return when_names.name(when);
}

std::string_view to_string(SteerFallback fallback) noexcept {
  return fallback_names.name(fallback);
}

std::string_view to_string(SteerFate fate) noexcept {
  return fate_names.name(fate);
}

std::string_view to_string(DropReason reason) noexcept {
  return drop_names.name(reason);
}

}  // namespace agentcore
