// ContextOptions: how much of a conversation a model is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace agentcore {

// Counts the tokens of a text. Called on the loop thread, often: it should be quick, and must not throw.
using TokenCounter = std::function<std::size_t(std::string_view text)>;

// A guess for any model: one token for every 2.5 characters (code points), rounded up. Of broken UTF-8 it
// counts the bytes that do not continue a code point.
std::size_t estimate_tokens(std::string_view text) noexcept;

// What estimates count for a picture. What providers count depends on its size.
inline constexpr std::size_t estimated_picture_tokens = 1000;

// Before every model call the conversation is trimmed, if it has grown over `max_tokens`, until no more than
// `target_tokens` are left: first the oldest turns, as long as the conversation keeps
// `min_conversation_tokens`, and windows that are not important; then, if that was not enough, the oldest
// important windows. If even then more than `max_tokens` are left, the first of the finished steps of the
// turn under way go, and as a last resort, down to `max_tokens`, the conversation does not keep its minimum.
//
// Never removed are the system prompt, pinned windows, turns with a pinned message, the question and the last
// step of the turn under way, and half of a tool call and its result. What is trimmed stays in
// Agent::conversation(); it is only not sent any more, also not when there is room again.
struct ContextOptions {
  std::size_t max_tokens = 32'000;              // of all that is sent; 0: never trimmed
  std::size_t target_tokens = 16'000;           // 0, or more than max_tokens: half of max_tokens
  std::size_t min_conversation_tokens = 8'000;  // more than target_tokens: as target_tokens
  TokenCounter count_tokens = {};               // empty: estimate_tokens
};

}  // namespace agentcore
