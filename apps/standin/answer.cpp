#include "answer.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace standin {
namespace {

constexpr std::size_t echo_words = 12;
constexpr std::size_t max_word_bytes = 40;
constexpr std::string_view space_mark = " \t\r\n\f\v";

constexpr std::array<std::string_view, 64> word_list = {
    "the",    "a",       "quiet", "harbour", "light",  "carries", "slowly",  "over",    "water",   "and",
    "stones", "while",   "every", "small",   "boat",   "waits",   "for",     "morning", "with",    "its",
    "rope",   "loose",   "in",    "wind",    "that",   "knows",   "no",      "hurry",   "paths",   "lead",
    "up",     "from",    "shore", "to",      "fields", "where",   "old",     "walls",   "keep",    "warm",
    "after",  "sun",     "has",   "gone",    "people", "walk",    "here",    "at",      "evening", "talking",
    "about",  "weather", "bread", "or",      "news",   "of",      "distant", "cities",  "then",    "turn",
    "home",   "under",   "first", "stars"};

// At most max_word_bytes of the word, never a part of a character.
std::string_view clip(std::string_view word) {
  if (word.size() <= max_word_bytes) return word;
  std::size_t end = max_word_bytes;
  while (end > 0 && (static_cast<unsigned char>(word[end]) & 0xc0) == 0x80) --end;
  return word.substr(0, end);
}

std::uint64_t hash(std::string_view text) {  // FNV-1a
  std::uint64_t value = 14695981039346656037U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return value;
}

}  // namespace

AnswerText::AnswerText(std::string_view message) : preface_("You said:"), state_(hash(message) | 1) {
  std::size_t words = 0;
  for (std::size_t at = message.find_first_not_of(space_mark);
       at != std::string_view::npos && words < echo_words; ++words) {
    const std::size_t end = std::min(message.find_first_of(space_mark, at), message.size());
    preface_ += words == 0 ? " \\\"" : " ";
    append_json_escaped(preface_, clip(message.substr(at, end - at)));
    at = message.find_first_not_of(space_mark, end);
  }
  preface_ += words == 0 ? " nothing." : "\\\".";
}

void AnswerText::append_next(std::string& out) {
  if (started_) out += ' ';
  started_ = true;
  if (offset_ < preface_.size()) {
    const std::size_t end = std::min(preface_.find(' ', offset_), preface_.size());
    out.append(preface_, offset_, end - offset_);
    offset_ = end + 1;
    return;
  }
  const bool begins = left_ == 0;
  if (begins) left_ = 6 + draw(9);
  const std::string_view word = word_list[draw(word_list.size())];
  out += begins ? static_cast<char>(word[0] - 'a' + 'A') : word[0];
  out += word.substr(1);
  if (--left_ == 0) out += '.';
}

std::uint32_t AnswerText::draw(std::uint32_t bound) {  // xorshift64*
  state_ ^= state_ >> 12;
  state_ ^= state_ << 25;
  state_ ^= state_ >> 27;
  return static_cast<std::uint32_t>((state_ * 2685821657736338717U) >> 33) % bound;
}

void append_json_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  append_json_escaped(result, text);
  return result += '"';
}

std::uint64_t count_words(std::string_view text) noexcept {
  std::uint64_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = space_mark.find(c) != std::string_view::npos;
    count += !space && !inside;
    inside = !space;
  }
  return count;
}

}  // namespace standin
