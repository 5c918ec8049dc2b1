// The names of priorities and of reasons for dropped messages, and the text of an id.
#include "core/enum_names.hpp"

#include <agentcore/message.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames priority_names{std::to_array<detail::core::EnumName<MessagePriority>>(
    {{MessagePriority::normal, "normal"}, {MessagePriority::urgent, "urgent"}})};
static_assert(priority_names.is_in_order());

constexpr detail::core::EnumNames drop_names{
    std::to_array<detail::core::EnumName<DropReason>>({{DropReason::none, "none"},
                                                       {DropReason::stopped, "stopped"},
                                                       {DropReason::deleted, "deleted"},
                                                       {DropReason::queue_cleared, "queue_cleared"},
                                                       {DropReason::interrupted, "interrupted"},
                                                       {DropReason::removed, "removed"}})};
static_assert(drop_names.is_in_order());

}  // namespace

std::string to_string(MessageId id) {
  return id ? "m" + std::to_string(id.value) : std::string();
}

std::string_view to_string(MessagePriority priority) noexcept {
  return priority_names.name(priority);
}

std::string_view to_string(DropReason reason) noexcept {
  return drop_names.name(reason);
}

}  // namespace agentcore
