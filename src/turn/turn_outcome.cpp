// The words for how a turn ends.
#include <agentcore/event.hpp>

namespace agentcore {

std::string_view to_string(TurnOutcome outcome) noexcept {
  switch (outcome) {
    case TurnOutcome::completed:
      return "completed";
    case TurnOutcome::aborted:
      return "aborted";
    case TurnOutcome::stopped:
      return "stopped";
    case TurnOutcome::failed:
      return "failed";
  }
  return "unknown";
}

}  // namespace agentcore
