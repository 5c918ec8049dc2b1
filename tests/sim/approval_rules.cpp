#include "sim/approval_rules.hpp"

#include <algorithm>

namespace agentcore::sim {

void ApprovalRules::see(const Event& event) {
  if (event.get<AgentCreated>() != nullptr) {  // an earlier agent of that id may have had such calls
    const std::string made = call_key(event.agent().id(), "call_");
    std::erase_if(declined_, [&](const std::string& call) { return call.starts_with(made); });
    for (auto& [number, approval] : approvals_)
      if (approval.call.id.starts_with(made)) approval.call.id.clear();
  }
  const auto* const asked = event.get<QuestionAsked>();
  if (asked == nullptr || asked->question.kind != QuestionKind::approval) return;
  const OpenQuestion& question = asked->question;
  const std::string id = call_key(question.agent_id, question.call_id);
  if (declined_.erase(id) != 0)
    verdict_.require(lost_.contains(id), "approvals", "a person is asked again for " + id);
  const Call& call = asked_[question.id] = {id, question.tool};
  for (auto& [number, approval] : approvals_)
    if (approval.question == question.id) approval = {{}, approval.scope, call};
}

std::size_t ApprovalRules::approves(const std::string& question, GrantScope scope) {
  const auto call = asked_.find(question);
  approvals_[++last_] =
      call == asked_.end() ? Approval{question, scope, {}} : Approval{{}, scope, call->second};
  return last_;
}

void ApprovalRules::declined(const std::string& question) {
  const auto call = asked_.find(question);
  if (call == asked_.end()) return;
  declined_.insert(call->second.id);
  unstored_.insert(call->second.id);
}

// A grant holds for further calls of its tool.
void ApprovalRules::begins(const std::string& tool, const std::string& call) {
  verdict_.require(!declined_.contains(call), "approvals",
                   tool + " began, and a person has declined " + call);
  const bool is_approved = std::ranges::any_of(approvals_, [&](const auto& one) {
    const Approval& approval = one.second;
    return approval.call.id == call || (approval.scope != GrantScope::once && approval.call.tool == tool);
  });
  verdict_.require(is_approved, "approvals", tool + " began without an approval of " + call);
}

}  // namespace agentcore::sim
