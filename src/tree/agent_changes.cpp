#include "tree/agent_changes.hpp"

#include "core/validate.hpp"
#include "tree/options.hpp"

#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

ChangeResult grant(TreeShared& tree, turn::Turns& turns, core::NodeId id, const Budget& budget,
                   bool subtree) {
  Node* node = tree.reach(id);
  if (!node) {
    Error problem = tree.missing(no_agent_text);
    return {problem.code, std::move(problem.message)};
  }
  const LoopEntry entry(tree.lifetime);
  try {
    if (const auto problem = core::Validation("Budget").budget("", budget).problem())
      return {problem->code, problem->message};
    turns.grant(*node, budget, subtree);
    if (persist::Recorder* const recorder = tree.recorder()) recorder->note_change(node->id());
    return {};
  } catch (const std::bad_alloc&) {  // the previous budget is unchanged
    return {Errc::out_of_memory, "out of memory"};
  }
}

ChangeResult change_spec(TreeShared& tree, core::NodeId id, const std::function<void(AgentSpec&)>& change) {
  Node* node = tree.reach(id);
  if (!node || !node->spec) {
    Error problem = tree.missing("no such agent (any more)");
    return {problem.code, std::move(problem.message)};
  }
  const LoopEntry entry(tree.lifetime);
  try {
    auto changed = std::make_shared<AgentSpec>(*node->spec);
    changed->system_prompt = turn::system_prompt_of(*node->spec);
    changed->history.clear();
    change(*changed);
    if (const auto problem = check_spec(*changed)) return {problem->code, problem->message};
    if (node->data && changed->tools != node->spec->tools)
      static_cast<turn::TurnData&>(*node->data).sent.windows.clear();  // numbered by the registry
    turn::use_tools(*changed, tree.engine);
    // TurnData::answer_check stays: no change concerns the response format.
    // A function on the stack may refer to the old spec.
    tree.replaced_specs.push_back(node->spec);
    node->spec = std::move(changed);
    if (persist::Recorder* const recorder = tree.recorder()) recorder->note_change(node->id());
    return {};
  } catch (const std::bad_alloc&) {  // the spec before is unchanged
    return {Errc::out_of_memory, "out of memory"};
  }
}

AnswerResult answer(TreeShared& tree, turn::Turns& turns, std::string_view question_id,
                    const Answer& answer) {
  if (tree.engine->closed()) return {Errc::runtime_gone};
  if (tree.is_closed()) return {Errc::question_not_found};
  const LoopEntry entry(tree.lifetime);
  // A permission is given by approve() alone: a host may pass on what a person has written, e.g. "no".
  const turn::AskedQuestion* const asked = turns.questions().find(question_id);
  if (asked && asked->covers && answer.outcome == QuestionOutcome::answered) return {Errc::is_an_approval};
  return turns.questions().answer(question_id, answer);
}

AnswerResult approve(TreeShared& tree, turn::Turns& turns, std::string_view question_id, GrantScope scope) {
  if (tree.engine->closed()) return {Errc::runtime_gone};
  if (tree.is_closed()) return {Errc::question_not_found};
  const LoopEntry entry(tree.lifetime);
  return turns.permissions().approve(question_id, scope);
}

ChangeResult revoke(TreeShared& tree, turn::Turns& turns, std::uint64_t grant_id) {
  if (tree.engine->closed()) return {Errc::runtime_gone, std::string(runtime_gone_text)};
  const LoopEntry entry(tree.lifetime);
  if (!tree.is_closed() && turns.permissions().revoke(grant_id)) return {};
  return {Errc::grant_not_found, "no grant has the id " + std::to_string(grant_id)};
}

}  // namespace agentcore::detail::tree
