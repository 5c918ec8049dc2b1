#include "tree/options.hpp"

#include "core/validate.hpp"
#include "llm/history_problem.hpp"
#include "turn/conversation.hpp"

#include <string>

namespace agentcore::tree {
namespace {

std::optional<Error> check_history(const AgentSpec& spec) {
  if (const std::string problem = llm::history_problem(spec.history); !problem.empty())
    return Error{Errc::invalid_history,
                 "AgentSpec::history: " + problem + "; repair_history() makes a valid history of it"};
  const std::string& prompt = turn::system_prompt_of(spec);
  const bool begins_with_prompt = !spec.history.empty() && spec.history.front().role == Role::system;
  if (begins_with_prompt && spec.history.front().content != prompt)
    return Error{
        Errc::invalid_history,
        "AgentSpec::history: message 1 (system) is not AgentSpec::system_prompt; leave system_prompt "
        "empty to go on with the history's, or remove message 1 to replace it"};
  return std::nullopt;
}

}  // namespace

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
  if (auto problem = check_history(spec)) return problem;
  return core::Validation("AgentSpec")
      .count("mailbox_limit", spec.mailbox_limit, 0, max_mailbox_limit)
      .budget("budget.", spec.budget)
      .budget("subtree_budget.", spec.subtree_budget)
      .prices("prices.", spec.prices)
      .problem();
}

}  // namespace agentcore::tree
