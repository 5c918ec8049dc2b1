// ApprovalRules: a call that needs an approval begins only with one.
#pragma once

#include "sim/call_key.hpp"
#include "sim/verdict.hpp"

#include <agentcore/event.hpp>
#include <agentcore/question.hpp>
#include <agentcore/tool_policy.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace agentcore::sim {

class ApprovalRules {
 public:
  explicit ApprovalRules(Verdict& verdict) : verdict_(verdict) {}

  void see(const Event& event);
  // approve() is called, or a request for it is on its way: its call may begin before there is an answer. A
  // number for was_refused().
  std::size_t approves(const std::string& question, GrantScope scope);
  void was_refused(std::size_t approval) { approvals_.erase(approval); }
  // decline() was accepted.
  void declined(const std::string& question);
  // A flush has succeeded: the store has what people have said.
  void flushed() { unstored_.clear(); }
  // The process was killed, or its store has failed: what they have said since may be asked again.
  void changes_are_lost() { lost_.merge(unstored_); }
  // A tool that needs an approval begins; `call`: its call_key().
  void begins(const std::string& tool, const std::string& call);

 private:
  struct Call {
    std::string id, tool;  // call_key()
  };

  struct Approval {
    std::string question;  // whose event is still to come; empty: `call` is known
    GrantScope scope;
    Call call;
  };

  Verdict& verdict_;
  std::map<std::string, Call> asked_;  // by the question; over restarts
  std::map<std::size_t, Approval> approvals_;
  std::size_t last_ = 0;
  std::set<std::string> declined_;         // calls
  std::set<std::string> unstored_, lost_;  // those of declined_ that were not flushed; before a kill
};

}  // namespace agentcore::sim
