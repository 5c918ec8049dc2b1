// AnswerText: the text of the stand-in's answers. Readable, deterministic, endless, and cheap enough for
// 10,000 streams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace standin {

// The words of one answer: a preface that echoes the message, then sentences that depend only on the message.
// A word is a token. Copies continue independently.
class AnswerText {
 public:
  // `message` is valid UTF-8.
  explicit AnswerText(std::string_view message);

  // Appends the next word, a separating space in front of it (but for the first), escaped for a JSON string.
  void append_next(std::string& out);

 private:
  std::uint32_t draw(std::uint32_t bound);

  std::string preface_;     // already escaped, words separated by single spaces
  std::size_t offset_ = 0;  // into preface_
  std::uint64_t state_;     // of the generator
  std::uint32_t left_ = 0;  // words until the sentence ends
  bool started_ = false;
};

// Appends `text` (valid UTF-8) escaped for the inside of a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

// The JSON string of `text`, which is valid UTF-8.
std::string json_string(std::string_view text);

// Words separated by white space: the stand-in counts them as tokens.
std::uint64_t count_words(std::string_view text) noexcept;

}  // namespace standin
