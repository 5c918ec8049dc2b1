// FoundState: the state in which a restart finds an agent.
#pragma once

#include "persist/agent_record.hpp"

namespace agentcore::detail::persist {

struct FoundState {
  bool is_deleted = false;  // its delete had begun, or that of an ancestor
  core::Gate gate = core::Gate::open;
  bool stopped_by_ancestor = false;
  StopCause cause = StopCause::user;
  bool is_closed_above = false;  // by an ancestor, or by stop_all()
  bool is_closed_below = false;  // by its gate, or that of an ancestor

  bool is_stopped() const noexcept { return gate != core::Gate::open; }
};

// docs/design/store.md, "What a restart finds", but for code that is missing. `parent`: null for a root.
// `all_stopped`: by stop_all().
FoundState found_state(const AgentRecord& record, const FoundState* parent, bool all_stopped) noexcept;

}  // namespace agentcore::detail::persist
