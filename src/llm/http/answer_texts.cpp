#include "llm/http/answer_texts.hpp"

#include "core/message_items.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t max_id = 1024, max_phase = 64;  // bytes that are kept
constexpr std::uint64_t hash_base = 0x100'0000'01b3;

std::string kept(std::string_view word, std::size_t most) {
  return word.size() <= most ? std::string(word) : std::string();
}

// A polynomial: the hash of a text follows from those of the text with one before it, and of that one.
std::uint64_t hash_of(std::uint64_t hash, std::string_view text) noexcept {
  for (const char letter : text) hash = hash * hash_base + static_cast<unsigned char>(letter) + 1;
  return hash;
}

std::uint64_t power(std::uint64_t exponent) noexcept {
  std::uint64_t result = 1;
  for (std::uint64_t base = hash_base; exponent != 0; exponent >>= 1U, base *= base)
    if ((exponent & 1U) != 0) result *= base;
  return result;
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
  return part.id.empty() || piece.id.empty() || part.id == piece.id;
}

void AnswerTexts::Text::learn(const TextPiece& piece) {
  if (!piece.id.empty()) part.id = kept(piece.id, max_id);
  if (!piece.phase.empty()) part.phase = kept(piece.phase, max_phase);
  if (piece.index) index = piece.index;
}

void AnswerTexts::make_first() {
  if (texts_.empty() && delivered_ != 0)
    texts_.push_back({{.bytes = delivered_}, first_place_, std::nullopt});
}

// The text of which nothing was known is of the item of this piece.
void AnswerTexts::learn_first(const TextPiece& piece) {
  if (is_empty() || (!piece.index && piece.id.empty() && piece.phase.empty())) return;
  make_first();
  texts_.back().learn(piece);
}

// A text without bytes was only announced: it is this one, if it can be.
void AnswerTexts::begin(const TextPiece& piece, std::uint64_t place) {
  make_first();
  if (!texts_.empty() && texts_.back().part.bytes == 0 && !texts_.back().is_of(piece)) texts_.pop_back();
  const bool is_announced = !texts_.empty() && texts_.back().part.bytes == 0;
  if (!is_announced && texts_.size() == max_texts) return;
  if (!is_announced) texts_.push_back({{.offset = delivered_}, place + piece.place, std::nullopt});
  texts_.back().part.refusal = is_special_ = piece.refusal;
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

bool AnswerTexts::is_current_item(const TextPiece& piece) const noexcept {
  return texts_.empty() || texts_.back().is_of(piece);
}

bool AnswerTexts::is_current(const TextPiece& piece) const noexcept {
  if (texts_.empty()) return !piece.refusal && (!is_empty() || (!piece.index && piece.id.empty()));
  return piece.refusal == texts_.back().part.refusal && texts_.back().is_of(piece);
}

// Begins another item, part or text, unless the piece continues that which grows. Returns the separator that
// goes before the piece.
std::string_view AnswerTexts::separator_of(const TextPiece& piece, std::uint64_t place) {
  const bool begins_item = std::exchange(ends_item_, false) || !is_current_item(piece);
  if (begins_item) announced_part_ = 0;
  const std::uint64_t number = std::max(piece.part, announced_part_);
  const bool begins_text = begins_item || !is_current(piece);
  const bool begins_part = begins_text || std::exchange(ends_part_, false) || number != part_number_;
  const bool is_first = words_ == item_.bytes;  // of the item
  if (begins_item) item_ = {hash_, words_};
  if (begins_part) part_ = {hash_, words_};
  ends_part_ = false;
  part_number_ = number;
  if (begins_text)
    begin(piece, place);
  else if (texts_.empty())
    learn_first(piece);
  if (separates_ == Separates::texts)
    return begins_text && !is_empty() ? core::between_texts : std::string_view();
  const bool is_separate = begins_part && number != 0 && number < unseparated_parts;
  return is_separate && !begins_item && !is_first ? core::between_texts : std::string_view();
}

void AnswerTexts::add(std::string_view text, std::size_t separator, std::uint64_t place, bool is_last) {
  if (delivered_ == 0) first_place_ = place;
  if (!texts_.empty()) {
    AnswerPart& part = texts_.back().part;
    if (part.bytes == 0) part.offset = delivered_ + separator;
    part.bytes = delivered_ + separator + text.size() - part.offset;
  }
  delivered_ += separator + text.size();
  words_ += text.size();
  if (!is_last) hash_ = hash_of(hash_, text);
}

void AnswerTexts::append(std::string_view text, const TextPiece& piece, std::uint64_t place, bool is_last,
                         std::string& out) {
  if (text.empty()) return;
  const std::string_view separator = separator_of(piece, place);
  add(text, separator.size(), place, is_last);
  out.append(separator).append(text);
}

// The halves that are left of a pair before a text.
void AnswerTexts::append_cut(const TextPiece& piece, CutPair cut, std::uint64_t place, std::string& out) {
  const bool is_other =
      piece.refusal != high_refuses_ || (piece.index && high_index_ && *piece.index != *high_index_);
  if (is_other) end_cut(place, out);
  std::string letter;
  append_pair(letter, std::exchange(high_, std::uint16_t{0}), cut.low);
  append(letter, piece, place, false, out);
}

// The half that waits stays alone.
void AnswerTexts::end_cut(std::uint64_t place, std::string& out) {
  std::string letter;
  append_pair(letter, std::exchange(high_, std::uint16_t{0}), 0);
  append(letter, {.refusal = high_refuses_, .index = high_index_, .part = part_number_}, place, false, out);
}

void AnswerTexts::take(std::string_view text, CutPair cut, std::span<const TextPiece> pieces,
                       bool begins_item, std::uint64_t place, std::string& out) {
  const TextPiece whole{.bytes = text.size()};
  const bool is_whole = pieces.empty();
  if (!text.empty() || cut) append_cut(is_whole ? whole : pieces.front(), cut, place, out);
  for (const TextPiece& piece : is_whole ? std::span(&whole, 1) : pieces) {
    append(text.substr(piece.offset, piece.bytes), piece, place, false, out);
    if (piece.bytes == 0 && !cut && !is_whole) announce(piece, begins_item, place);
  }
  if (text.empty() && !cut) return;
  const TextPiece& last = is_whole ? whole : pieces.back();
  high_ = cut.high;
  high_refuses_ = last.refusal;
  high_index_ = last.index;
}

// What is known of an item, or of a part of it, before its text.
void AnswerTexts::announce(const TextPiece& piece, bool begins_item, std::uint64_t place) {
  if (begins_item) {
    begin(piece, place);
    item_ = part_ = {hash_, words_};
    part_number_ = announced_part_ = 0;
  } else {
    learn(piece);
    announced_part_ = std::max(announced_part_, piece.part);
  }
}

// True for an item, or a part of the current one, before the text that grows.
bool AnswerTexts::is_earlier(const TextPiece& piece, Repeats what) const noexcept {
  if (is_current_item(piece)) return what == Repeats::part && piece.part < part_number_;
  return std::ranges::any_of(texts_, [&](const Text& text) {
    if (text.index && piece.index) return *piece.index <= *text.index;
    return !piece.id.empty() && text.part.id == piece.id;
  });
}

// The bytes at the beginning of a snapshot that were delivered; empty: it does not begin with what was.
std::optional<std::size_t> AnswerTexts::known(Repeats what, const TextPiece& first,
                                              std::string_view text) const {
  Mark from;
  if (what != Repeats::answer) {
    if (!is_current_item(first)) return 0;
    from = what == Repeats::item ? item_ : part_;
    if (what == Repeats::part && first.part != part_number_) return 0;
  }
  const std::uint64_t bytes = words_ - from.bytes;
  const std::uint64_t hash = hash_ - from.hash * power(bytes);
  if (text.size() >= bytes && hash_of(0, text.substr(0, bytes)) == hash) return bytes;
  // Where nothing tells the items apart, it may be the next one.
  return what != Repeats::answer && ends_item_ ? std::optional<std::size_t>(0) : std::nullopt;
}

bool AnswerTexts::take_snapshot(Repeats what, std::string_view text, std::span<const TextPiece> pieces,
                                std::uint64_t place, bool is_last, std::string& out) {
  const TextPiece whole{.bytes = text.size()};
  const std::span<const TextPiece> all = pieces.empty() ? std::span(&whole, 1) : pieces;
  if (what != Repeats::answer && is_earlier(all.front(), what)) return true;
  const std::optional<std::size_t> known = this->known(what, all.front(), text);
  if (!known && text.empty()) learn(all.front());
  if (!known) return text.empty();
  if (*known < text.size()) high_ = 0;  // the snapshot has the whole character
  for (const TextPiece& piece : all) {
    const std::size_t end = piece.offset + piece.bytes;
    if (piece.bytes == 0 || *known >= end) {
      learn(piece);
    } else if (*known <= piece.offset) {
      append(text.substr(piece.offset, piece.bytes), piece, place, is_last, out);
    } else {
      add(text.substr(*known, end - *known), 0, place, is_last);
      out.append(text.substr(*known, end - *known));
    }
  }
  if (what == Repeats::item) end_item();
  if (what == Repeats::part) ends_part_ = true;
  return true;
}

void AnswerTexts::finish(std::string& out) {
  end_cut(first_place_, out);
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
