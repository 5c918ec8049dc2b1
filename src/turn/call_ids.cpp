#include "turn/call_ids.hpp"

#include <algorithm>
#include <functional>

namespace agentcore::detail::turn {
namespace {

constexpr std::size_t short_history = 64;  // messages

bool has_result(const std::vector<ChatMessage>& messages, std::string_view id) noexcept {
  return std::any_of(messages.begin(), messages.end(), [&](const ChatMessage& message) {
    return message.role == Role::tool && message.tool_call_id == id;
  });
}

}  // namespace

bool CallIds::contain(std::string_view id, const std::vector<ChatMessage>& messages) {
  if (messages.size() > short_history) {
    read(messages);
    if (!hashes_.contains(std::hash<std::string_view>()(id))) return false;
  }
  return has_result(messages, id);
}

void CallIds::forget_from(std::size_t position) noexcept {
  if (position >= read_) return;
  hashes_.clear();
  read_ = 0;
}

void CallIds::read(const std::vector<ChatMessage>& messages) {
  for (; read_ < messages.size(); ++read_)
    if (messages[read_].role == Role::tool)
      hashes_.insert(std::hash<std::string_view>()(messages[read_].tool_call_id));
}

}  // namespace agentcore::detail::turn
