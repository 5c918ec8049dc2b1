// Guesses of tokens, for calls that end before their provider has counted: of the request, and of the answer
// as far as it came.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace agentcore::llm {

// About one token for 4 bytes of UTF-8, in most languages and in code (3 to 5).
constexpr std::uint64_t tokens_of_bytes(std::uint64_t bytes) noexcept {
  return (bytes + 3) / 4;
}

// The same of all that a request says; pictures count as everywhere.
inline std::uint64_t prompt_tokens(const ChatRequest& request) noexcept {
  std::uint64_t bytes = 0, pictures = 0;
  for (const ChatMessage& message : request.messages) {
    bytes += message.content.size();
    for (const ToolCall& call : message.tool_calls) bytes += call.name.size() + call.arguments.size();
    for (const ReasoningBlock& block : message.reasoning) bytes += block.data.size();
    pictures += message.parts.size();
  }
  for (const ToolDescription& tool : request.tools) bytes += tool.description.size() + tool.parameters.size();
  return tokens_of_bytes(bytes) + pictures * estimated_picture_tokens;
}

// Most servers send each token in a piece of its own, so the number of pieces is the better guess; but not
// where the pieces are too large for that (batches of tokens), or too small (single letters). There the bytes
// decide: one token for 4 of them at least, one for 2 at most.
class AnswerMeter {
 public:
  void add(std::string_view piece) noexcept {
    if (piece.empty()) return;
    bytes_ += piece.size();
    ++pieces_;
  }

  std::uint64_t tokens() const noexcept {
    return std::clamp(pieces_, tokens_of_bytes(bytes_), (bytes_ + 1) / 2);
  }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t pieces_ = 0;
};

}  // namespace agentcore::llm
