#include "turn/permissions.hpp"

#include "tools/contain.hpp"

#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace agentcore::detail::turn {
namespace {

// The decision of two policies. A grant is for the calls to which both give the same key.
ToolDecision stricter_of(ToolDecision first, ToolDecision second) {
  const bool both_ask = first.permission == Permission::ask && second.permission == Permission::ask;
  if (both_ask && first.grant_key != second.grant_key) first.grant_key.clear();
  return second.permission > first.permission ? std::move(second) : std::move(first);
}

}  // namespace

Verdict Permissions::check(Turn turn, const Call& call) {
  // Copies: a policy may end the call.
  const std::shared_ptr<const Tool> kept = call.found.entry.tool;
  const ToolSpec& tool = kept->spec;
  const std::string window_id = call.names.window_id;
  std::string arguments = call.arguments;
  if (grants_.end_changed(turn.node().id(), window_id, tool)) note_change(turn.node().id());
  const core::BorrowedAgent agent = context_.hub.borrow(turn.node());
  const std::string agent_id = context_.table.names().name_of(turn.node(), turn.node().id());
  ToolDecision decision = decide(turn, {agent.get(), agent_id, window_id, tool, arguments});
  if (!turn.is_admitted()) return {Permission::deny};
  if (decision.permission == Permission::allow && tool.needs_approval) decision = {Permission::ask};
  if (decision.permission == Permission::allow) return {};
  if (decision.permission != Permission::ask) return {Permission::deny, std::move(decision.reason)};
  Coverage covers{window_id, tool.name, tool.description, tool.parameters, tool.mode, {}, {}};
  if (decision.grant_key.empty())
    covers.arguments = std::move(arguments);
  else
    covers.key = std::move(decision.grant_key);
  if (grants_.covers(turn.node(), covers)) return {};
  return {Permission::ask, {}, std::move(covers)};
}

ToolDecision Permissions::decide(Turn turn, const ToolRequest& request) {
  ToolDecision of_tree = ask_policy(*context_.limits.tool_policy, request);
  if (of_tree.permission > Permission::ask || !turn.is_admitted()) return of_tree;
  return stricter_of(std::move(of_tree), ask_policy(turn.spec().tool_policy, request));
}

ToolDecision Permissions::ask_policy(const ToolPolicy& policy, const ToolRequest& request) {
  ToolDecision decision;
  if (!policy) return decision;
  if (tools::contain(context_.engine, "a ToolPolicy", [&] { decision = policy(request); }))
    decision = {Permission::deny, "the policy of the host failed"};
  else if (decision.permission > Permission::ask && decision.reason.empty())
    decision.reason = "the policy of the host denies this call";
  return decision;
}

Errc Permissions::approve(std::string_view question_id, GrantScope scope) {
  const Answer yes{QuestionOutcome::answered, {}};
  const AskedQuestion* const asked = desk_.find(question_id);
  if (!asked) return desk_.answer(question_id, yes);  // it says why
  if (!asked->covers) return Errc::not_an_approval;
  if (scope == GrantScope::once) return desk_.answer(question_id, yes);
  // First: what runs when the answer is passed on, observers of QuestionClosed included, finds the grant.
  std::optional<std::uint64_t> added;
  try {
    added = grants_.add(asked->agent, scope, *asked->covers);
  } catch (const std::bad_alloc&) {
    return Errc::out_of_memory;
  }
  note_change(asked->agent);
  const Errc refused = desk_.answer(question_id, yes);
  if (refused == Errc::none)
    approve_covered();
  else if (added)
    static_cast<void>(revoke(*added));
  return refused;
}

bool Permissions::revoke(std::uint64_t grant_id) noexcept {
  const core::NodeId agent = grants_.agent_of(grant_id);
  if (!grants_.revoke(grant_id)) return false;
  note_change(agent);
  return true;
}

void Permissions::note_change(core::NodeId agent) noexcept {
  if (context_.hub.changes) context_.hub.changes->on_grants_changed(agent);
}

// Answers the open approvals that a grant covers. Without memory they stay open.
void Permissions::approve_covered() {
  context_.engine.guarded("approvals that are granted", [&] {
    for (const std::string& id : desk_.approvals()) {
      const AskedQuestion* const asked = desk_.find(id);  // an observer may have ended it
      const core::Node* const node = asked ? context_.find(asked->agent) : nullptr;
      if (node && grants_.covers(*node, *asked->covers))
        static_cast<void>(desk_.answer(id, {QuestionOutcome::answered, {}}));
    }
  });
}

std::vector<Grant> Permissions::grants() {
  for (const core::NodeId agent : grants_.end_all_changed(context_.table)) note_change(agent);
  return grants_.list(context_.table);
}

}  // namespace agentcore::detail::turn
