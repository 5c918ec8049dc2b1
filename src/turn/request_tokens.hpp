// Counts of tokens for budgets, by the agent's TokenCounter; if it throws, by the library's own estimate.
#pragma once

#include "context/token_count.hpp"
#include "loop/engine.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>

#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::turn {

// Runs `count`, which counts tokens with the counter of the host. False: the counter has thrown, and that is
// logged. Any other exception is thrown.
template <typename Count>
bool count_guarded(loop::Engine& engine, Count&& count) {
  std::exception_ptr ours;
  const bool counted = engine.guarded("TokenCounter", [&] {
    try {
      std::forward<Count>(count)();
    } catch (const context::CounterFailed&) {
      throw;
    } catch (...) {
      ours = std::current_exception();
    }
  });
  if (ours) std::rethrow_exception(ours);
  return counted;
}

// Each calls the host's TokenCounter, if there is one. @loop_thread
std::uint64_t text_tokens(loop::Engine& engine, const AgentSpec& spec, std::string_view text);
std::uint64_t call_tokens(loop::Engine& engine, const AgentSpec& spec, const std::vector<ToolCall>& calls);
// Of the whole prompt: messages, images and descriptions of tools.
std::uint64_t request_tokens(loop::Engine& engine, const AgentSpec& spec, const ChatRequest& request);

}  // namespace agentcore::detail::turn
