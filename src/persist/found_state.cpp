#include "persist/found_state.hpp"

namespace agentcore::detail::persist {

FoundState found_state(const AgentRecord& record, const FoundState* parent, bool all_stopped) noexcept {
  FoundState found;
  const bool deferred = record.grade != core::Grade::none;
  found.is_deleted = (parent && parent->is_deleted) || record.of_call ||
                     record.gate == core::Gate::terminate || record.grade_deletes;
  const bool closed_above = parent ? parent->is_closed_below : all_stopped;
  const bool was_open = record.gate == core::Gate::open && !deferred;
  found.cause = record.cause;
  found.stopped_by_ancestor = record.stopped_by_ancestor;
  if (closed_above) {
    // A resume of the ancestor opens what is below an agent that was stopped alone.
    found.gate = record.gate == core::Gate::stop_self ? record.gate : core::Gate::stop_tree;
    if (was_open) {
      found.stopped_by_ancestor = true;
      found.cause = StopCause::parent;
    }
  } else if (record.gate != core::Gate::open) {
    found.gate = record.gate;
  } else if (deferred) {
    found.gate = record.grade_below != core::Grade::none ? core::Gate::stop_tree : core::Gate::stop_self;
  }
  found.is_closed_below = closed_above || found.gate == core::Gate::stop_tree;
  found.is_closed_above = closed_above;
  return found;
}

}  // namespace agentcore::detail::persist
