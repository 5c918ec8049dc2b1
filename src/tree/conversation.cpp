// The functions of agentcore/conversation.hpp: forward to the core of the tree.
#include "core/agent_access.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/conversation.hpp>

#include <string_view>
#include <utility>

namespace agentcore {
namespace {

using detail::core::AgentAccess;

constexpr std::string_view empty_handle =
    "the Agent handle is empty; get one from AgentTree::create() or find()";

Error empty_handle_error() {
  return {Errc::agent_not_found, std::string(empty_handle)};
}

}  // namespace

ChangeResult acknowledge(const Agent& agent, const Acknowledgement& seen) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return {Errc::agent_not_found, std::string(empty_handle)};
  return core->turn_verbs().acknowledge(AgentAccess::node(agent), seen);
}

ChangeResult truncate_answer(const Agent& agent, MessageId message, std::size_t bytes) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return {Errc::agent_not_found, std::string(empty_handle)};
  return core->conversation_verbs().truncate_answer(AgentAccess::node(agent), message, bytes);
}

Result<ConversationPage> conversation_page(const Agent& agent, std::size_t count,
                                           std::optional<std::size_t> end) {
  if (const Result<AgentState> exists = agent.state(); !exists) return exists.error();
  return AgentAccess::core(agent)->requests().page(AgentAccess::node(agent), count, end);
}

Result<std::vector<ConversationTurn>> turns_of(const Agent& agent) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  return core->conversation_verbs().turns_of(AgentAccess::node(agent));
}

Result<std::vector<ChatMessage>> rewind(const Agent& agent, std::uint64_t turn) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  return core->conversation_verbs().rewind(AgentAccess::node(agent), turn);
}

SendResult regenerate(const Agent& agent, SendOptions options) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return SendResult{Errc::agent_not_found};
  return core->conversation_verbs().regenerate(AgentAccess::node(agent), std::move(options));
}

Result<Agent> fork(const Agent& agent, ForkOptions options) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return empty_handle_error();
  return core->factory().fork(AgentAccess::node(agent), std::move(options));
}

}  // namespace agentcore
