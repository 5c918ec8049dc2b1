#include "tree/options.hpp"

#include "core/validate.hpp"

#include <agentcore/history.hpp>

namespace agentcore::tree {

void check_options(const TreeOptions& options) {
  core::Validation("TreeOptions")
      .count("max_depth", options.max_depth, 1, 250)
      .count("max_agents", options.max_agents, 1, 134'000'000)
      .count("mailbox_limit", options.mailbox_limit, 1, max_mailbox_limit)
      .count("max_message_bytes", options.max_message_bytes, 1)
      .count("max_answer_bytes", options.max_answer_bytes, 1)
      .count("max_tool_result_bytes", options.max_tool_result_bytes, 1)
      .not_negative("stop_grace", options.stop_grace)
      .not_negative("tool_timeout", options.tool_timeout)
      .not_negative("question_timeout", options.question_timeout)
      .raise();
}

std::optional<Error> check_spec(const AgentSpec& spec) {
  if (!spec.history.empty() && (spec.history.front().role == Role::system || !is_valid_history(spec.history)))
    return Error{Errc::invalid_history,
                 "AgentSpec::history is not a valid history, or begins with a system message (that is "
                 "AgentSpec::system_prompt); repair_history() mends it"};
  return core::Validation("AgentSpec")
      .count("mailbox_limit", spec.mailbox_limit, 0, max_mailbox_limit)
      .budget("budget.", spec.budget)
      .budget("subtree_budget.", spec.subtree_budget)
      .prices("prices.", spec.prices)
      .problem();
}

}  // namespace agentcore::tree
