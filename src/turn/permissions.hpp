// Permissions: whether a tool call may run, must be approved, or is denied.
#pragma once

#include "turn/grants.hpp"
#include "turn/question_desk.hpp"
#include "turn/turn.hpp"
#include "turn/turn_context.hpp"

#include <agentcore/tool_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

struct Verdict {
  Permission permission = Permission::allow;
  std::string reason = {};  // of a denial
  Coverage covers = {};     // to be asked about: what a grant covers
};

// Asks the policies of the tree and of the spec, and knows the grants. All @loop_thread.
class Permissions {
 public:
  Permissions(TurnContext& context, QuestionDesk& desk) : context_(context), desk_(desk) {}

  // Decides about a call that was looked up, and whose arguments are canonical. Runs the host's policies: the
  // turn, or the call, may be over afterwards.
  Verdict check(Turn turn, const Call& call);
  // A person approves a call, and with `scope` later ones.
  Errc approve(std::string_view question_id, GrantScope scope);
  // Ends a grant. False: there is none of that id.
  bool revoke(std::uint64_t grant_id) noexcept;
  // The grants that still hold, the oldest first.
  std::vector<Grant> grants();
  // The table of grants, for the store.
  Grants& table() noexcept { return grants_; }
  const Grants& table() const noexcept { return grants_; }

  std::size_t count(const core::References& refers) const noexcept { return grants_.count(refers); }
  void forget_deleted() noexcept { grants_.forget_deleted(context_.table); }
  void clear() noexcept { grants_.clear(); }

 private:
  ToolDecision decide(Turn turn, const ToolRequest& request);
  ToolDecision ask_policy(const ToolPolicy& policy, const ToolRequest& request);
  void approve_covered();
  void note_change(core::NodeId agent) noexcept;

  TurnContext& context_;
  QuestionDesk& desk_;
  Grants grants_;
};

}  // namespace agentcore::detail::turn
