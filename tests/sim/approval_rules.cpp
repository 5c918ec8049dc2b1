#include "sim/approval_rules.hpp"

namespace agentcore::sim {

void ApprovalRules::see(const Event& event) {
  if (event.get<AgentCreated>() != nullptr) {  // an earlier agent of that id may have had such calls
    const std::string made = call_key(event.agent().id(), "call_");
    for (auto* const calls : {&approved_, &declined_})
      std::erase_if(*calls, [&](const std::string& call) { return call.starts_with(made); });
  }
  const auto* const asked = event.get<QuestionAsked>();
  if (asked == nullptr || asked->question.kind != QuestionKind::approval) return;
  const OpenQuestion& question = asked->question;
  const std::string id = call_key(question.agent_id, question.call_id);
  if (declined_.erase(id) != 0)
    verdict_.require(lost_.contains(id), "approvals", "a person is asked again for " + id);
  asked_[question.id] = {id, question.tool};
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

void ApprovalRules::begins(const std::string& tool, const std::string& call) {
  verdict_.require(!declined_.contains(call), "approvals",
                   tool + " began, and a person has declined " + call);
  verdict_.require(approved_.contains(call) || granted_.contains(tool), "approvals",
                   tool + " began without an approval of " + call);
}

}  // namespace agentcore::sim
