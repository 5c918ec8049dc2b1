#include "turn/request_ends.hpp"

#include "core/blank.hpp"
#include "core/message_items.hpp"
#include "core/text_hash.hpp"

namespace agentcore::detail::turn {
namespace {

// True for a message that stands between two messages of the user in every dialect.
bool separates(const ChatMessage& message) noexcept {
  return message.role == Role::assistant && (!message.tool_calls().empty() || !core::is_blank(message));
}

// True for a message behind which a model is asked.
bool awaits_answer(const ChatMessage& message) noexcept {
  return message.role == Role::user || message.role == Role::tool;
}

// Of the earlier requests those count that a user message follows, because the two must not be joined, and
// the last one.
bool counts(const std::vector<ChatMessage>& messages, std::size_t end, std::size_t last,
            std::size_t earlier) noexcept {
  return earlier < end && (earlier == last || !separates(messages[earlier]));
}

}  // namespace

std::vector<std::size_t> sent_before(const std::vector<ChatMessage>& messages, std::size_t end,
                                     const SentContext& sent, std::size_t first) {
  std::vector<std::size_t> ends;
  std::size_t at = sent.unsent, kept = first;
  for (const std::size_t earlier : sent.request_ends) {
    if (!counts(messages, end, sent.request_ends.back(), earlier)) continue;
    for (; at < earlier; ++at) kept += at >= sent.now().size() || sent.now()[at] ? 1 : 0;
    if (kept > first && (ends.empty() || ends.back() != kept)) ends.push_back(kept);
  }
  return ends;
}

std::vector<std::size_t> ends_of_history(const std::vector<ChatMessage>& messages) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i < messages.size(); ++i)
    if (messages[i].role == Role::user && awaits_answer(messages[i - 1])) ends.push_back(i);
  std::size_t last = messages.size();  // the end of the last request
  while (last != 0 && !awaits_answer(messages[last - 1])) --last;
  if (last != 0 && (ends.empty() || ends.back() < last)) ends.push_back(last);
  return ends;
}

void note_request_end(const std::vector<ChatMessage>& messages, std::size_t end, SentContext& sent) noexcept {
  std::vector<std::size_t>& ends = sent.request_ends;
  const std::size_t last = ends.empty() ? 0 : ends.back();
  std::erase_if(ends, [&](std::size_t earlier) { return !counts(messages, end, last, earlier); });
  ends.push_back(end);
}

std::string cache_key_of(const AgentSpec& spec, std::string_view agent_id) {
  return spec.model.cache_key.empty() ? core::hashed_name("agent-", agent_id) : spec.model.cache_key;
}

}  // namespace agentcore::detail::turn
