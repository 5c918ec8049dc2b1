// The functions of agentcore/conversation.hpp: forward to the core of the tree.
#include "core/agent_access.hpp"
#include "loop/engine.hpp"
#include "tree/tree_core.hpp"
#include "tree/turn_verbs.hpp"

#include <agentcore/conversation.hpp>

#include <string_view>
#include <utility>

namespace agentcore {
namespace {

using detail::core::AgentAccess;
using detail::loop::wrong_thread;

constexpr std::string_view empty_handle =
    "the Agent handle is empty; get one from AgentTree::create() or find()";

Error empty_handle_error() {
  return {Errc::agent_not_found, std::string(empty_handle)};
}

}  // namespace

ChangeResult acknowledge(const Agent& agent, const Acknowledgement& seen) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return {Errc::agent_not_found, std::string(empty_handle)};
  return detail::tree::acknowledge(core->shared(), AgentAccess::node(agent), seen);
}

ChangeResult truncate_answer(const Agent& agent, MessageId message, std::size_t bytes) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return {Errc::agent_not_found, std::string(empty_handle)};
  if (core->queries().refuses_thread("truncate_answer")) {
    Error problem = wrong_thread("truncate_answer");
    return {problem.code, std::move(problem.message)};
  }
  return core->conversation_verbs().truncate_answer(AgentAccess::node(agent), message, bytes);
}

Result<ConversationPage> conversation_page(const Agent& agent, std::size_t count,
                                           std::optional<std::size_t> end) {
  auto* const core = AgentAccess::core(agent);
  if (core && core->queries().refuses_thread("conversation_page")) return wrong_thread("conversation_page");
  if (const Result<AgentState> exists = agent.state(); !exists) return exists.error();
  return core->requests().page(AgentAccess::node(agent), count, end);
}

Result<std::vector<ConversationTurn>> turns_of(const Agent& agent) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  if (core->queries().refuses_thread("turns_of")) return wrong_thread("turns_of");
  return core->conversation_verbs().turns_of(AgentAccess::node(agent));
}

Result<std::vector<ChatMessage>> rewind(const Agent& agent, std::uint64_t turn) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  if (core->queries().refuses_thread("rewind")) return wrong_thread("rewind");
  return core->conversation_verbs().rewind(AgentAccess::node(agent), turn);
}

SendResult regenerate(const Agent& agent, SendOptions options) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return SendResult{Errc::agent_not_found};
  if (core->queries().refuses_thread("regenerate")) return SendResult{Errc::wrong_thread};
  return core->conversation_verbs().regenerate(AgentAccess::node(agent), std::move(options));
}

Result<Agent> fork(const Agent& agent, ForkOptions options) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  if (core->queries().refuses_thread("fork")) return wrong_thread("fork");
  return core->factory().fork(AgentAccess::node(agent), std::move(options));
}

}  // namespace agentcore
