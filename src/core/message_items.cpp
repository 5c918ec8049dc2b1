#include "core/message_items.hpp"

#include "core/blank.hpp"
#include "core/utf8.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace agentcore::detail::core {
namespace {

// The place of an item in a history of the older form.
std::size_t rank_of(const MessageItem& item) noexcept {
  if (std::holds_alternative<ReasoningBlock>(item)) return 0;
  if (std::holds_alternative<TextItem>(item)) return 1;
  return std::holds_alternative<ContentPart>(item) ? 2 : 3;
}

// True if each part of the order has an item, and each item its part; and the texts are the text, but for
// white space between them: clients may deliver another separator than content() writes, or none.
bool fits(const std::vector<AnswerPart>& order, std::string_view text, std::size_t blocks,
          std::size_t calls) noexcept {
  std::size_t at = 0;
  for (const AnswerPart& part : order) {
    switch (part.kind) {
      case AnswerPart::Kind::text:
        if (part.bytes == 0) break;
        if (part.offset < at || part.offset > text.size() || part.bytes > text.size() - part.offset ||
            !is_blank(text.substr(at, part.offset - at)))
          return false;
        at = part.offset + part.bytes;
        break;
      case AnswerPart::Kind::reasoning:
        if (blocks-- == 0) return false;
        break;
      case AnswerPart::Kind::tool_call:
        if (calls-- == 0) return false;
        break;
    }
  }
  return blocks == 0 && calls == 0 && is_blank(text.substr(at));
}

template <typename Kind>
void append(std::vector<MessageItem>& items, std::vector<Kind>&& more) {
  for (Kind& item : more) items.emplace_back(std::move(item));
}

}  // namespace

const std::string& first_text(const ChatMessage& message) noexcept {
  static const std::string none;
  const auto texts = ItemsOf<const TextItem>(message.items);
  return texts.empty() ? none : texts.front().text;
}

std::string& first_text(ChatMessage& message) {
  if (ItemsOf<TextItem>(message.items).empty()) message.items.insert(message.items.begin(), TextItem());
  return ItemsOf<TextItem>(message.items).front().text;
}

bool is_blank(const ChatMessage& message) noexcept {
  return std::ranges::all_of(ItemsOf<const TextItem>(message.items),
                             [](const TextItem& item) { return is_blank(item.text); });
}

bool truncate_content(ChatMessage& message, std::size_t bytes) noexcept {
  std::size_t end = 0;  // of the texts so far, in content()
  bool cut = false;
  for (TextItem& item : ItemsOf<TextItem>(message.items)) {
    if (item.text.empty()) continue;
    const std::size_t begin = end == 0 ? 0 : end + between_texts.size();
    end = begin + item.text.size();
    if (end <= bytes) continue;
    item.text.resize(first_bytes(item.text, begin < bytes ? bytes - begin : 0).size());
    cut = true;
  }
  if (cut)
    std::erase_if(message.items, [](const MessageItem& item) {
      const auto* const text = std::get_if<TextItem>(&item);
      return text && text->text.empty();
    });
  return cut;
}

std::string_view kind_of(const MessageItem& item) noexcept {
  if (const auto* const part = std::get_if<ContentPart>(&item)) return to_string(part->kind);
  constexpr std::string_view names[] = {"text", "reasoning", "tool_call"};
  static_assert(std::variant_size_v<MessageItem> == std::size(names) + 1);
  return names[item.index()];
}

bool is_plain(const ChatMessage& message) noexcept {
  const auto texts = ItemsOf<const TextItem>(message.items);
  return std::ranges::is_sorted(message.items, {}, rank_of) && texts.size() <= 1 &&
         std::ranges::all_of(texts, [](const TextItem& item) {
           return !item.refusal && item.id.empty() && item.phase.empty();
         });
}

std::vector<MessageItem> items_of(std::string text, std::vector<ReasoningBlock> reasoning,
                                  std::vector<ToolCall> calls, const std::vector<AnswerPart>& order) {
  std::vector<MessageItem> items;
  if (order.empty() || !fits(order, text, reasoning.size(), calls.size())) {
    append(items, std::move(reasoning));
    if (!text.empty()) items.emplace_back(TextItem{std::move(text)});
    append(items, std::move(calls));
    return items;
  }
  auto block = reasoning.begin();
  auto call = calls.begin();
  for (const AnswerPart& part : order) {
    if (part.kind == AnswerPart::Kind::reasoning)
      items.emplace_back(std::move(*block++));
    else if (part.kind == AnswerPart::Kind::tool_call)
      items.emplace_back(std::move(*call++));
    else if (part.bytes > 0)
      items.emplace_back(TextItem{text.substr(part.offset, part.bytes), part.refusal, part.id, part.phase});
  }
  return items;
}

}  // namespace agentcore::detail::core
