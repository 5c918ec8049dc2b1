#include "llm/http/answer_texts.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t max_id = 1024, max_phase = 64;  // bytes that are kept

std::string kept(std::string_view word, std::size_t most) {
  return word.size() <= most ? std::string(word) : std::string();
}

// Reasoning, one text without anything of its own, calls.
bool is_default(const std::vector<AnswerPart>& parts) noexcept {
  const auto rank = [](const AnswerPart& part) {
    return part.kind == AnswerPart::Kind::reasoning ? 0 : part.kind == AnswerPart::Kind::text ? 1 : 2;
  };
  const auto is_special = [](const AnswerPart& part) {
    return part.refusal || !part.id.empty() || !part.phase.empty();
  };
  const auto texts = std::ranges::count(parts, AnswerPart::Kind::text, &AnswerPart::kind);
  return texts <= 1 && std::ranges::is_sorted(parts, {}, rank) && std::ranges::none_of(parts, is_special);
}

}  // namespace

bool AnswerTexts::Text::is_of(const TextPiece& piece) const noexcept {
  if (index && piece.index) return *index == *piece.index;
  return part.id.empty() || piece.item.id.empty() || part.id == piece.item.id;
}

void AnswerTexts::Text::learn(const TextPiece& piece) {
  if (!piece.item.id.empty()) part.id = kept(piece.item.id, max_id);
  if (!piece.phase.empty()) part.phase = kept(piece.phase, max_phase);
  if (piece.index) index = piece.index;
}

void AnswerTexts::make_first() {
  if (texts_.empty() && delivered_ != 0)
    texts_.push_back({{.bytes = delivered_}, first_place_, std::nullopt});
}

void AnswerTexts::begin(const TextPiece& piece) {
  make_first();
  const bool has_begun = !texts_.empty() && texts_.back().part.bytes == 0;
  if (has_begun && !texts_.back().is_of(piece)) texts_.pop_back();
  if (texts_.size() == max_texts) return;
  if (!has_begun || texts_.empty() || texts_.back().part.bytes != 0)
    texts_.push_back({{.offset = delivered_}, piece.item.place, std::nullopt});
  texts_.back().part.refusal = piece.refusal;
  texts_.back().learn(piece);
}

// An item may have several texts. They are near the end.
void AnswerTexts::learn(const TextPiece& piece) {
  for (auto text = texts_.rbegin(); text != texts_.rend(); ++text) {
    if (!text->is_of(piece)) continue;
    const bool is_sure = text->index && piece.index;
    text->learn(piece);
    if (!is_sure) return;
  }
}

void AnswerTexts::add(std::size_t bytes, std::size_t separator, std::uint64_t place) {
  if (delivered_ == 0) first_place_ = place;
  if (!texts_.empty()) {
    AnswerPart& part = texts_.back().part;
    if (part.bytes == 0) part.offset = delivered_ + separator;
    part.bytes = delivered_ + bytes - part.offset;
  }
  delivered_ += bytes;
}

bool AnswerTexts::is_current_item(const TextPiece& piece) const noexcept {
  return texts_.empty() || texts_.back().is_of(piece);
}

bool AnswerTexts::is_current(const TextPiece& piece) const noexcept {
  if (texts_.empty()) return !piece.refusal && !piece.index && piece.item.id.empty();
  return piece.refusal == texts_.back().part.refusal && texts_.back().is_of(piece);
}

std::vector<AnswerPart> AnswerTexts::order(std::vector<ItemPlace> blocks, std::vector<ItemPlace> calls,
                                           bool always) {
  make_first();
  std::erase_if(texts_, [](const Text& text) { return text.part.bytes == 0; });
  std::vector<AnswerPart> parts;
  auto block = blocks.begin();
  auto call = calls.begin();
  const auto add_blocks_to = [&](std::uint64_t place) {
    for (; block != blocks.end() && block->place <= place; ++block)
      parts.push_back({.kind = AnswerPart::Kind::reasoning, .id = kept(block->id, max_id)});
  };
  const auto add_calls_before = [&](std::uint64_t place) {
    for (; call != calls.end() && call->place < place; ++call) {
      add_blocks_to(call->place);
      parts.push_back({.kind = AnswerPart::Kind::tool_call, .id = kept(call->id, max_id)});
    }
  };
  for (Text& text : texts_) {
    add_calls_before(text.place);
    add_blocks_to(text.place);
    parts.push_back(std::move(text.part));
  }
  add_calls_before(UINT64_MAX);
  add_blocks_to(UINT64_MAX);
  if (!always && is_default(parts)) parts.clear();
  return parts;
}

}  // namespace agentcore::detail::llm
