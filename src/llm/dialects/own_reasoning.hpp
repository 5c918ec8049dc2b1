// The one place that decides which reasoning of a history goes back to a server.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/http_llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::llm {

// The rule of a server that has none of its own.
ReasoningRule rule_of(Dialect dialect) noexcept;

// What the reasoning of the answer to a request is bound to, besides its server. 0: not known.
struct Binding {
  std::string model = {};     // as the request names it
  std::uint64_t account = 0;  // fingerprints; see ReasoningBlock
  std::uint64_t prefix = 0;
};

// The prefix is only known if the rule asks for it. `key`: what is sent to name the account, which may be
// nothing.
Binding binding_of(const ChatRequest& request, const ReasoningRule& rule, std::string_view key);

// A block without data that is bound to that.
ReasoningBlock block_of(Dialect dialect, const std::string& server, const Binding& binding);

// True if reasoning of an answer goes back as the rule says, whoever made it. The signatures that belong to
// a message and not to its calls always do, in Dialect::openai_chat: see add_reasoning().
bool goes_with(const ReasoningRule& rule, bool has_calls, bool offers_tools) noexcept;

// Removes the reasoning that may not go back to that server: that of another dialect, server, model or
// account, or behind other messages; and, but for Dialect::openai_chat, what goes_with() leaves out. Returns
// how many blocks of that dialect were not its own.
std::size_t keep_own_reasoning(ChatRequest& request, Dialect dialect, const ReasoningRule& rule,
                               const std::string& server, const Binding& binding);

bool has_reasoning(const ChatRequest& request) noexcept;
void remove_reasoning(ChatRequest& request) noexcept;

// True if the running turn, which goes on with results of tools, was begun by an answer that has no reasoning
// before its calls: another model has begun it, or its reasoning may not go back. With thinking Anthropic's
// API refuses such a turn, so it goes on without thinking (fit_thinking()).
bool lacks_reasoning(const std::vector<ChatMessage>& messages) noexcept;

// True for a status of 400 or 422 whose text is about reasoning. That the request has some is known.
bool refuses_reasoning(const ChatError& error) noexcept;

}  // namespace agentcore::detail::llm
