#include "core/enum_names.hpp"
#include "core/message_items.hpp"

#include <agentcore/chat.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

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

constexpr detail::core::EnumNames part_names{
    std::to_array<detail::core::EnumName<ContentPart::Kind>>({{ContentPart::Kind::image, "image"},
                                                              {ContentPart::Kind::document, "document"},
                                                              {ContentPart::Kind::audio, "audio"}})};
static_assert(part_names.is_in_order());

constexpr detail::core::EnumNames finish_reason_names{
    std::to_array<detail::core::EnumName<FinishReason>>({{FinishReason::unknown, "unknown"},
                                                         {FinishReason::complete, "complete"},
                                                         {FinishReason::length, "length"},
                                                         {FinishReason::content_filter, "content_filter"},
                                                         {FinishReason::tool_calls, "tool_calls"},
                                                         {FinishReason::refusal, "refusal"},
                                                         {FinishReason::other, "other"}})};
static_assert(finish_reason_names.is_in_order());

// Where a text without a place of its own is put.
std::vector<MessageItem>::iterator behind_reasoning(std::vector<MessageItem>& items) {
  return std::find_if(items.begin(), items.end(),
                      [](const MessageItem& item) { return !std::holds_alternative<ReasoningBlock>(item); });
}

}  // namespace

std::string ChatMessage::content() const {
  std::string all;
  for (const TextItem& item : ItemsOf<const TextItem>(items)) {
    if (!all.empty() && !item.text.empty()) all += detail::core::between_texts;
    all += item.text;
  }
  return all;
}

void ChatMessage::set_content(std::string text) {
  const auto is_text = [](const MessageItem& item) { return std::holds_alternative<TextItem>(item); };
  auto place = std::find_if(items.begin(), items.end(), is_text);
  if (place == items.end()) place = items.insert(behind_reasoning(items), TextItem());
  *place = TextItem{std::move(text)};
  items.erase(std::remove_if(place + 1, items.end(), is_text), items.end());
}

std::string_view to_string(Role role) noexcept {
  return role_names.name(role);
}

std::string_view to_string(Interruption interruption) noexcept {
  return interruption_names.name(interruption);
}

std::string_view to_string(ContentPart::Kind kind) noexcept {
  return part_names.name(kind);
}

std::string_view to_string(FinishReason reason) noexcept {
  return finish_reason_names.name(reason);
}

}  // namespace agentcore
