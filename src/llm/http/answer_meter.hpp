// Estimates of tokens, for calls that end before their provider has sent its counts: of the request, and of
// the part of the answer that was received.
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

// An estimate of the whole request: its texts by their bytes, its pictures as in trimming (context.hpp).
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

// Most servers send each token in a piece of its own, so the number of pieces is the estimate. But pieces may
// be larger (batches of tokens) or smaller (single letters). So the bytes bound it: at least one token for 4
// bytes, at most one for 2.
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
