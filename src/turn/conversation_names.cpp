// The names of what is kept of answers, and of changes of a conversation.
#include "core/enum_names.hpp"

#include <agentcore/event.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames partial_names{std::to_array<detail::core::EnumName<PartialAnswers>>(
    {{PartialAnswers::drop, "drop"},
     {PartialAnswers::keep, "keep"},
     {PartialAnswers::keep_acknowledged, "keep_acknowledged"}})};
static_assert(partial_names.is_in_order());

constexpr detail::core::EnumNames change_names{std::to_array<detail::core::EnumName<ConversationChange>>(
    {{ConversationChange::rewound, "rewound"},
     {ConversationChange::truncated, "truncated"},
     {ConversationChange::compacted, "compacted"}})};
static_assert(change_names.is_in_order());

constexpr detail::core::EnumNames place_names{std::to_array<detail::core::EnumName<VolatilePlace>>(
    {{VolatilePlace::last_message, "last_message"}, {VolatilePlace::system_prompt, "system_prompt"}})};
static_assert(place_names.is_in_order());

}  // namespace

std::string_view to_string(PartialAnswers partial) noexcept {
  return partial_names.name(partial);
}

std::string_view to_string(ConversationChange change) noexcept {
  return change_names.name(change);
}

std::string_view to_string(VolatilePlace place) noexcept {
  return place_names.name(place);
}

}  // namespace agentcore
