#include "llm/dialects/chunk_shape.hpp"

#include "core/utf8.hpp"
#include "llm/dialects/json_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace agentcore::detail::llm {
namespace {

// Eight bytes at a time. The functions below set the highest bit of each byte that they look for; only the
// lowest bit that is set is exact, so the first byte in memory has to be the lowest.
using Block = std::uint64_t;
constexpr bool has_blocks = std::endian::native == std::endian::little;
constexpr Block ones = 0x0101'0101'0101'0101U, highest_bits = 0x8080'8080'8080'8080U;

Block block_at(const char* at) noexcept {
  Block block;
  std::memcpy(&block, at, sizeof block);
  return block;
}

constexpr Block equal_to(Block block, unsigned char wanted) noexcept {
  block ^= ones * wanted;
  return (block - ones) & ~block & highest_bits;
}

constexpr Block control_characters(Block block) noexcept {
  return (block - ones * 0x20) & ~block & highest_bits;
}

std::ptrdiff_t first_byte(Block marks) noexcept {
  return std::countr_zero(marks) / 8;
}

// The number of bytes at the beginning that are the same.
std::ptrdiff_t same_bytes(const char* a, const char* b, std::ptrdiff_t size) noexcept {
  std::ptrdiff_t same = 0;
  const auto differ = [&](std::ptrdiff_t at) { return block_at(a + at) ^ block_at(b + at); };
  while (has_blocks && size - same >= 32 &&
         (differ(same) | differ(same + 8) | differ(same + 16) | differ(same + 24)) == 0)
    same += 32;
  for (; has_blocks && size - same >= 8; same += 8)
    if (const Block bits = differ(same)) return same + first_byte(bits);
  while (same != size && a[same] == b[same]) ++same;
  return same;
}

struct Text {
  const char* end = nullptr;  // its closing quote; null: no valid text
  bool is_escaped = false;
};

// The first byte from `at` on that ends a text or is special in one. `seen` gets the bits of all bytes.
const char* find_special(const char* at, const char* end, const char* readable_end, Block& seen) noexcept {
  for (; has_blocks && readable_end - at >= 8 && at < end; at += 8) {
    const Block block = block_at(at);
    seen |= block;
    const Block special = equal_to(block, '"') | equal_to(block, '\\') | control_characters(block);
    if (special) return at + first_byte(special);
  }
  for (; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    seen |= byte;
    if (byte == '"' || byte == '\\' || byte < 0x20) break;
  }
  return at;
}

// A text from behind its opening quote. simdjson checks the same: characters that have to be escaped, UTF-8,
// and the end. What an escape stands for it looks at only when it unescapes the text.
Text find_text(const char* const begin, const char* end, const char* readable_end) noexcept {
  Text text;
  Block seen = 0;
  const char* at = find_special(begin, end, readable_end, seen);
  while (at < end && *at == '\\') {
    text.is_escaped = true;
    if (end - at < 2 || static_cast<unsigned char>(at[1]) < 0x20) return {};
    seen |= static_cast<unsigned char>(at[1]);
    at = find_special(at + 2, end, readable_end, seen);
  }
  if (at >= end || *at != '"') return {};
  const std::string_view whole(begin, static_cast<std::size_t>(at - begin));
  if ((seen & highest_bits) != 0 && !core::is_utf8(whole)) return {};
  text.end = at;
  return text;
}

bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// True if the object holds nothing but a piece of text and a model's name.
bool is_plain(const AnswerObject& object) noexcept {
  if (!object.has_choice || object.refused || object.ends || object.snapshot || object.begins_block)
    return false;
  if (object.finish_reason || object.usage || object.cost || object.error) return false;
  if (!object.reasoning.empty() || !object.answering_model.empty() || !object.begins.empty()) return false;
  if (!object.tool_calls.empty() || object.tool_call_fault != ToolCallFault::none) return false;
  if (!object.reasoning_pieces.empty() || !object.reasoning_details.empty()) return false;
  if (!object.texts.empty() || object.content_cut || object.reasoning_cut || object.details_cut) return false;
  return object.text_in_details.empty() && !object.too_many_details && object.other_items.empty();
}

}  // namespace

bool ChunkShape::read(std::string_view chunk, std::size_t readable_behind, AnswerObject& object) {
  if (sample_.empty() || chunk.size() > most_bytes) return false;
  const char* at = chunk.data();
  const Ends ends{at + chunk.size(), at + chunk.size() + std::min(readable_behind, sizeof(Block))};
  const char* const begin = sample_.data();
  const char* const sample_end = begin + sample_.size();
  const char* sample = begin;
  Texts texts{content_, model_};
  const Place* place = places_.data();
  const Place* const places_end = place + place_count_;
  for (;; ++place) {
    const std::ptrdiff_t same = same_bytes(sample, at, std::min(sample_end - sample, ends.chunk - at));
    at += same;
    sample += same;
    if (at == ends.chunk && sample == sample_end) break;
    while (place != places_end && begin + place->end < sample) ++place;
    if (place == places_end || begin + place->begin > sample) return false;
    at = take_value(*place, at - (sample - begin - place->begin), ends, texts);
    if (at == nullptr) return false;
    sample = begin + place->end;
  }
  if (pause_ > 0) --pause_;
  object.has_choice = true;
  object.content = texts.content;
  object.model = texts.model;
  return true;
}

// Reads the value at `at` and returns its end; null: it does not fit into the place.
const char* ChunkShape::take_value(const Place& place, const char* at, const Ends& ends, Texts& texts) {
  if (!place.is_text) {
    const char* const end = std::find_if_not(at, ends.chunk, is_digit);
    return end == at ? nullptr : end;
  }
  const Text text = find_text(at, ends.chunk, ends.readable);
  if (text.end == nullptr || place.use == Use::none) return text.end;
  std::string& buffer = place.use == Use::content ? other_content_ : other_model_;
  if (!text.is_escaped) {
    buffer.assign(at, text.end);
  } else if (CutPair cut; !unescape_json_piece({at - 1, text.end + 1}, buffer, cut) || cut) {
    return nullptr;
  }
  (place.use == Use::content ? texts.content : texts.model) = buffer;
  return text.end;
}

void ChunkShape::begin_marks() noexcept {
  mark_count_ = 0;
  takes_marks_ = waiting_ == 0;
  if (!takes_marks_) --waiting_;
}

void ChunkShape::mark(std::string_view token, Use use) noexcept {
  if (!takes_marks_ || token.empty()) return;
  if (mark_count_ < most_places) marks_[mark_count_] = {token.data(), use};
  if (mark_count_ <= most_places) ++mark_count_;
}

void ChunkShape::learn(std::string_view chunk, const AnswerObject& object) {
  const bool marked = std::exchange(takes_marks_, false) && mark_count_ <= most_places;
  if (!marked || chunk.empty() || chunk.size() > most_bytes || !is_plain(object)) return;
  if (!make_places(chunk)) return;
  sample_.assign(chunk);
  content_.assign(object.content);
  model_.assign(object.model);
  waiting_ = pause_;
  pause_ = static_cast<std::uint8_t>(std::min(2 * pause_ + 1, 255));
}

// False, without a change, if the content is not one text.
bool ChunkShape::make_places(std::string_view chunk) noexcept {
  std::array<Place, most_places> places;
  std::uint8_t count = 0;
  bool has_content = false;
  const std::span<const Mark> marks(marks_.data(), mark_count_);
  for (const Mark& mark : marks) {
    const auto is_newer = [&mark](const Mark& other) { return &other > &mark && other.use == mark.use; };
    if (mark.use != Use::none && std::ranges::any_of(marks, is_newer)) continue;
    const std::optional<Place> place = place_of(mark, chunk);
    if (place) places[count++] = *place;
    if (mark.use == Use::content) has_content = place && place->is_text;
  }
  if (!has_content) return false;
  places_ = places;
  place_count_ = count;
  return true;
}

// Empty for a value that is neither a text nor a count: it may not differ.
std::optional<ChunkShape::Place> ChunkShape::place_of(const Mark& mark, std::string_view chunk) noexcept {
  const char* const end = chunk.data() + chunk.size();
  const auto offset = [&chunk](const char* at) { return static_cast<std::uint16_t>(at - chunk.data()); };
  if (*mark.at == '"') {
    const Text text = find_text(mark.at + 1, end, end);
    if (text.end == nullptr) return std::nullopt;
    return Place{offset(mark.at + 1), offset(text.end), mark.use, true};
  }
  const char* const digits_end = std::find_if_not(mark.at, end, is_digit);
  if (digits_end == mark.at) return std::nullopt;
  return Place{offset(mark.at), offset(digits_end), mark.use, false};
}

}  // namespace agentcore::detail::llm
