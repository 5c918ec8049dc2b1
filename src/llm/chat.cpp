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
  }
  return "";
}

bool is_valid_history(const std::vector<ChatMessage>& messages) noexcept {
  const ChatMessage* question = nullptr;  // the message before, if it still waits for its answer
  for (const ChatMessage& message : messages) {
    const bool waiting = question != nullptr && question->interruption == Interruption::none;
    if (message.role == Role::system && &message != &messages.front()) return false;
    if (message.role == Role::user && waiting) return false;
    if (message.role == Role::assistant && !waiting) return false;
    question = message.role == Role::user ? &message : nullptr;
  }
  return true;
}

}  // namespace agentcore
