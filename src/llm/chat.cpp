#include <agentcore/chat.hpp>

namespace agentcore {

std::string_view to_string(Role role) noexcept {
  switch (role) {
    case Role::system:
      return "system";
    case Role::user:
      return "user";
    case Role::assistant:
      return "assistant";
    case Role::tool:
      return "tool";
  }
  return "";
}

std::string_view to_string(Interruption interruption) noexcept {
  switch (interruption) {
    case Interruption::none:
      return "none";
    case Interruption::aborted:
      return "aborted";
    case Interruption::stopped:
      return "stopped";
    case Interruption::failed:
      return "failed";
  }
  return "";
}

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::unknown:
      return "unknown";
    case FinishReason::complete:
      return "complete";
    case FinishReason::length:
      return "length";
    case FinishReason::content_filter:
      return "content_filter";
    case FinishReason::tool_calls:
      return "tool_calls";
    case FinishReason::refusal:
      return "refusal";
  }
  return "";
}

}  // namespace agentcore
