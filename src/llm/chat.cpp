#include "core/message_items.hpp"

#include <agentcore/chat.hpp>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace agentcore {

namespace {

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

}  // namespace agentcore
