#include "turn/request_tokens.hpp"

#include "context/token_count.hpp"

namespace agentcore::detail::turn {
namespace {

// `count(counter)` with the counter of the spec; with the estimate if there is none, or if it throws.
template <typename Count>
std::uint64_t counted(loop::Engine& engine, const AgentSpec& spec, Count&& count) {
  std::uint64_t tokens = 0;
  if (spec.context.count_tokens &&
      engine.guarded("TokenCounter", [&] { tokens = count(spec.context.count_tokens); }))
    return tokens;
  return count(TokenCounter());
}

}  // namespace

std::uint64_t text_tokens(loop::Engine& engine, const AgentSpec& spec, std::string_view text) {
  return counted(engine, spec, [&](const TokenCounter& count) { return context::text_tokens(text, count); });
}

std::uint64_t call_tokens(loop::Engine& engine, const AgentSpec& spec, const std::vector<ToolCall>& calls) {
  return counted(engine, spec,
                 [&](const TokenCounter& count) { return context::tool_call_tokens(calls, count); });
}

std::uint64_t request_tokens(loop::Engine& engine, const AgentSpec& spec, const ChatRequest& request) {
  return counted(engine, spec,
                 [&](const TokenCounter& count) { return context::request_tokens(request, count); });
}

}  // namespace agentcore::detail::turn
