#include "sim/approval_rules.hpp"

namespace agentcore::sim {

void ApprovalRules::see(const Event& event) {
  const auto* const asked = event.get<QuestionAsked>();
  if (asked == nullptr || asked->question.kind != QuestionKind::approval) return;
  if (declined_.erase(asked->question.call_id) != 0)
    verdict_.require(lost_.contains(asked->question.call_id), "approvals",
                     "a person is asked again for " + asked->question.call_id);
  asked_[asked->question.id] = {asked->question.call_id, asked->question.tool};
}

void ApprovalRules::approve_was_refused() {
  approved_ = approved_before_;
  granted_ = granted_before_;
}

void ApprovalRules::approves(const std::string& question, GrantScope scope) {
  approved_before_ = approved_;
  granted_before_ = granted_;
  const auto call = asked_.find(question);
  if (call == asked_.end()) return;  // its event is still to come
  approved_.insert(call->second.id);
  if (scope != GrantScope::once) granted_.insert(call->second.tool);
}

void ApprovalRules::declined(const std::string& question) {
  const auto call = asked_.find(question);
  if (call == asked_.end()) return;
  declined_.insert(call->second.id);
  unstored_.insert(call->second.id);
}

void ApprovalRules::begins(const std::string& tool, const std::string& call_id) {
  verdict_.require(!declined_.contains(call_id), "approvals",
                   tool + " began, and a person has declined " + call_id);
  verdict_.require(approved_.contains(call_id) || granted_.contains(tool), "approvals",
                   tool + " began without an approval of " + call_id);
}

}  // namespace agentcore::sim
