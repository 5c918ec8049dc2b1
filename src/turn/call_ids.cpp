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
    if (!read_->hashes.contains(std::hash<std::string_view>()(id))) return false;
  }
  return has_result(messages, id);
}

void CallIds::forget_from(std::size_t position) noexcept {
  if (read_ && position < read_->messages) read_.reset();
}

void CallIds::read(const std::vector<ChatMessage>& messages) {
  if (!read_) read_ = std::make_unique<Read>();
  for (std::size_t& at = read_->messages; at < messages.size(); ++at)
    if (messages[at].role == Role::tool)
      read_->hashes.insert(std::hash<std::string_view>()(messages[at].tool_call_id));
}

}  // namespace agentcore::detail::turn
