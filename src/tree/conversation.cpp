// The functions of agentcore/conversation.hpp: forward to the core of the tree.
#include "core/agent_access.hpp"
#include "tree/agent_reads.hpp"
#include "tree/handle_calls.hpp"
#include "tree/tree_core.hpp"
#include "tree/turn_verbs.hpp"

#include <agentcore/conversation.hpp>

#include <utility>

namespace agentcore {
namespace {

using detail::core::AgentAccess;

// function(core, id) for the agent, on the loop thread only.
template <typename Function>
auto on_loop_thread(const Agent& agent, const char* name, Function&& function) {
  auto* const core = AgentAccess::core(agent);
  return detail::tree::on_loop_thread(core, name,
                                      [&](auto&) { return function(*core, AgentAccess::node(agent)); });
}

}  // namespace

Result<void> acknowledge(const Agent& agent, const Acknowledgement& seen) {
  return detail::tree::on_any_thread(AgentAccess::core(agent), [&](auto& tree) -> Result<void> {
    switch (const Errc refused = detail::tree::acknowledge(tree, AgentAccess::node(agent), seen)) {
      case Errc::none:
        return {};
      case Errc::turn_over:
        return Error{refused, "the turn of message " + to_string(seen.message) + " is not in progress"};
      case Errc::invalid_config:
        return Error{refused, "Acknowledgement::call is 0; the first model call of a turn is 1"};
      default:
        return tree.missing(detail::tree::no_agent_text);
    }
  });
}

Result<void> truncate_answer(const Agent& agent, MessageId message, std::size_t bytes) {
  return on_loop_thread(agent, "truncate_answer", [&](auto& core, auto id) {
    return core.conversation_verbs().truncate_answer(id, message, bytes);
  });
}

Result<ConversationPage> conversation_page(const Agent& agent, std::size_t count,
                                           std::optional<std::size_t> end) {
  return detail::tree::read(agent, "conversation_page", detail::tree::page_of, count, end);
}

Result<std::vector<ConversationTurn>> turns_of(const Agent& agent) {
  return on_loop_thread(agent, "turns_of",
                        [](auto& core, auto id) { return core.conversation_verbs().turns_of(id); });
}

Result<std::vector<ChatMessage>> rewind(const Agent& agent, std::uint64_t turn) {
  return on_loop_thread(agent, "rewind",
                        [&](auto& core, auto id) { return core.conversation_verbs().rewind(id, turn); });
}

SendResult regenerate(const Agent& agent, SendOptions options) {
  return on_loop_thread(agent, "regenerate", [&](auto& core, auto id) {
    return core.conversation_verbs().regenerate(id, std::move(options));
  });
}

Result<Agent> fork(const Agent& agent, ForkOptions options) {
  return on_loop_thread(agent, "fork",
                        [&](auto& core, auto id) { return core.factory().fork(id, std::move(options)); });
}

}  // namespace agentcore
