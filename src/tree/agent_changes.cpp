#include "tree/agent_changes.hpp"

#include "core/validate.hpp"
#include "tree/agent_reads.hpp"
#include "tree/options.hpp"

#include <new>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

Result<void> grant(TreeShared& tree, turn::Turns& turns, core::NodeId id, const Budget& budget, Scope scope) {
  Node* node = tree.reach(id);
  if (!node) return tree.missing(no_agent_text);
  const LoopEntry entry(tree.lifetime);
  try {
    if (auto problem = problem_of_budget(scope)) return *std::move(problem);
    if (auto problem = core::Validation("Budget").budget("", budget).problem()) return *std::move(problem);
    turns.grant(*node, budget, scope == Scope::subtree);
    if (persist::Recorder* const recorder = tree.recorder()) recorder->note_change(node->id());
    return {};
  } catch (const std::bad_alloc&) {  // the previous budget is unchanged
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

Result<void> change_spec(TreeShared& tree, core::NodeId id, const std::function<void(AgentSpec&)>& change) {
  Node* node = tree.reach(id);
  if (!node || !node->spec) return tree.missing("no such agent (any more)");
  const LoopEntry entry(tree.lifetime);
  try {
    auto changed = std::make_shared<AgentSpec>(*node->spec);
    changed->system_prompt = turn::system_prompt_of(*node->spec);
    changed->history.clear();
    change(*changed);
    if (auto problem = check_spec(*changed)) return *std::move(problem);
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
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

namespace {

Result<void> answered(Errc refused) try {
  switch (refused) {
    case Errc::none:
      return {};
    case Errc::runtime_gone:
      return Error{refused, std::string(runtime_gone_text)};
    case Errc::question_not_found:
      return Error{refused, "there is no question with this id"};
    case Errc::question_closed:
      return Error{refused, "the question is closed"};
    case Errc::not_an_approval:
      return Error{refused, "the question is not an approval: answer it"};
    case Errc::is_an_approval:
      return Error{refused, "the question is an approval: approve or decline it"};
    case Errc::out_of_memory:
      return Error{refused, "out of memory"};
    default:
      return Error{refused, "the agent of the question is being stopped or deleted, or is stopped"};
  }
} catch (const std::bad_alloc&) {
  return Error{refused};  // without a text
}

}  // namespace

Result<void> answer(TreeShared& tree, turn::Turns& turns, std::string_view question_id,
                    const Answer& answer) {
  if (tree.engine->closed()) return answered(Errc::runtime_gone);
  if (tree.is_closed()) return answered(Errc::question_not_found);
  const LoopEntry entry(tree.lifetime);
  // A permission is given by approve() alone: a host may pass on what a person has written, e.g. "no".
  const turn::AskedQuestion* const asked = turns.questions().find(question_id);
  if (asked && asked->covers && answer.outcome == QuestionOutcome::answered)
    return answered(Errc::is_an_approval);
  return answered(turns.questions().answer(question_id, answer));
}

Result<void> approve(TreeShared& tree, turn::Turns& turns, std::string_view question_id, GrantScope scope) {
  if (tree.engine->closed()) return answered(Errc::runtime_gone);
  if (tree.is_closed()) return answered(Errc::question_not_found);
  const LoopEntry entry(tree.lifetime);
  return answered(turns.permissions().approve(question_id, scope));
}

Result<void> revoke(TreeShared& tree, turn::Turns& turns, std::uint64_t grant_id) {
  if (tree.engine->closed()) return answered(Errc::runtime_gone);
  const LoopEntry entry(tree.lifetime);
  if (!tree.is_closed() && turns.permissions().revoke(grant_id)) return {};
  return Error{Errc::grant_not_found, "no grant has the id " + std::to_string(grant_id)};
}

}  // namespace agentcore::detail::tree
