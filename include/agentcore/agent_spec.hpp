// AgentSpec: what an agent is made from.
#pragma once

#include <agentcore/budget.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/context.hpp>
#include <agentcore/fwd.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

// Who an agent is to the verbs (X10). The protection is against a direct stop or terminate; a stop or a
// delete of an ancestor takes everything below it along.
enum class AgentRole : unsigned char {
  normal,
  system,  // terminate is refused: `cannot_delete_system_agent`
  user,    // stands for a person: terminate and stop are refused (`cannot_stop_user`)
};

// Handles a message in the host's own code instead of a model call. The agent is `processing` while it runs.
// Called on the loop thread, one message at a time per agent, only through the agent's gate; it may do
// anything, stop its own agent and destroy the tree included. If it throws, the turn has failed and the agent
// goes on.
using MessageHandler = std::function<void(const Agent& agent, const Message& message)>;

// How a model is told of its tools, and asks for them.
enum class ToolProtocol : unsigned char {
  native,  // the provider's function calls
  text,    // <tool_call> blocks in the answer, for models and servers without them
};

struct AgentSpec {
  std::string id = {};  // empty: one is generated ("@17.1"; in the second tree of a Runtime "@2:17.1").
                        // Unique in the tree, UTF-8, at most 255 bytes.
  std::string system_prompt = {};  // first message of every model call; empty: that of `history`, if any
  std::string model = {};          // empty: the client's default
  LlmClient* llm = nullptr;        // null: the tree's. Must outlive the agent.
  MessageHandler handler = {};     // set: messages go here, not to a model
  AgentRole role = AgentRole::normal;
  std::uint16_t mailbox_limit = 0;         // 1 to 65,000 messages; 0: TreeOptions::mailbox_limit
  bool auto_resume = false;                // a send to the stopped agent resumes it (X4); off: it is refused
  std::optional<double> temperature = {};  // 0 to 2; others are refused when the agent is created
  std::optional<std::uint32_t> max_tokens = {};
  std::string reasoning_effort = {};    // "low", "medium", "high", or what the model takes; empty: not sent
  ResponseFormat response_format = {};  // of its answers; a broken schema is refused in the same way
  ToolChoice tool_choice = {};          // of the first model call of a turn; later ones are free to answer

  // What it may do besides talking. Shared by all agents that name it.
  std::shared_ptr<ToolRegistry> tools = {};
  ToolProtocol tool_protocol = ToolProtocol::native;
  // With ToolProtocol::text: an answer whose calls cannot be read is returned to the model, with the reason,
  // once in a turn; it counts as an answer with tool calls. The second such answer, or the first if this is
  // false, completes the turn as an answer in words, with InteractionResult::parse_error (X30).
  bool repair_tool_calls = true;
  // Answers with tool calls in one turn. When there were so many, the next answer has to be in words: if it
  // asks for tools once more, they are not run and the turn fails with `tool_turn_limit` (X18).
  std::uint16_t max_tool_turns = 12;
  // Calls of one answer that may run side by side; their results are kept in order. 1: one after the other.
  std::uint16_t parallel_tools = 1;
  // Background tasks that it may have at once. 0: tools of mode `async` run like all others (L1).
  std::uint16_t background_tasks = 0;

  ContextOptions context = {};
  // The conversation to continue, e.g. Agent::conversation() of an earlier run; must be valid
  // (is_valid_history). If it begins with a system message, that is the system prompt: `system_prompt` must
  // then be empty or the same. If its last question has no answer, that question counts as stopped.
  std::vector<ChatMessage> history = {};

  Budget budget = {};          // of what it does itself
  Budget subtree_budget = {};  // of what it and all agents below it do together
  Prices prices = {};          // of its model, for budgets with a cost
};

// For many agents alike: make the spec once and share it; each agent then costs no copy of it. Its `id` is
// ignored.
using SharedAgentSpec = std::shared_ptr<const AgentSpec>;

// A type that converts to SharedAgentSpec. The functions that take one are templates, so that a list in
// braces, as in create({}), can only be an AgentSpec.
template <typename T>
concept SharesAgentSpec = std::convertible_to<const T&, SharedAgentSpec>;

}  // namespace agentcore
