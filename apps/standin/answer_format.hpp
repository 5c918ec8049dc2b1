// AnswerFormat: how an API writes an answer.
#pragma once

#include "chat_call.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

// The text of a stream's event around one delta, and of a delta around a piece of text, which is escaped for
// a JSON string.
struct DeltaFrame {
  std::string before_delta, after_delta;
  std::string_view before_text, after_text;
};

// Stateless. `number` is that of the request's record. An event is its whole text, with its last empty line.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual DeltaFrame frame(const ChatCall& call, std::uint64_t number) const = 0;
  // The deltas of a dictated answer: each counts as a token. Empty: no answer is dictated.
  virtual std::vector<std::string> deltas(const ChatCall& call, std::uint64_t number) const = 0;
  // The events before the first token, and those behind the last one.
  virtual std::string opening(const ChatCall& call, std::uint64_t number) const = 0;
  virtual std::string closing(const ChatCall& call, std::uint64_t number) const = 0;
  // The body of an answer without a stream; `text` is escaped.
  virtual std::string whole(const ChatCall& call, std::uint64_t number, std::string_view text) const = 0;
};

const AnswerFormat& chat_format() noexcept;      // OpenAI chat completions
const AnswerFormat& messages_format() noexcept;  // Anthropic Messages

}  // namespace standin
