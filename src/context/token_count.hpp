// The only implementation of token counts: of a text, a message, a whole request. Trimming, budgets, rate
// limits and the usage of stopped calls all use it, so that they agree. Pure.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::context {

// The tokens of a message besides its texts: its role and separators.
inline constexpr std::size_t tokens_around_message = 4;

// What `count` has thrown, whatever its type.
class AGENTCORE_INTERNAL_API CounterFailed final : public std::exception {
 public:
  explicit CounterFailed(std::string what) noexcept : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Each function counts texts with `count`; empty: with estimate_tokens(). They throw only CounterFailed, and
// std::bad_alloc if there is no memory for its text.

std::size_t text_tokens(std::string_view text, const TokenCounter& count = {});

// The names and arguments of tool calls.
std::uint64_t tool_call_tokens(const std::vector<ToolCall>& calls, const TokenCounter& count = {});

// A message: its text, its tool calls, its reasoning, its images, and the tokens around them.
std::size_t message_tokens(const ChatMessage& message, const TokenCounter& count = {});

// The description of a tool.
std::size_t tool_tokens(std::string_view name, std::string_view description, std::string_view parameters,
                        const TokenCounter& count = {});

// The prompt of a request: its messages, its tail and its tools.
AGENTCORE_INTERNAL_API std::uint64_t request_tokens(const ChatRequest& request,
                                                    const TokenCounter& count = {});

}  // namespace agentcore::detail::context
