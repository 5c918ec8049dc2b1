#include "turn/conversation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace agentcore::detail::turn {

const std::string& system_prompt_of(const AgentSpec& spec) noexcept {
  const bool in_history =
      spec.system_prompt.empty() && !spec.history.empty() && spec.history.front().role == Role::system;
  return in_history ? spec.history.front().content : spec.system_prompt;
}

void Conversation::restore(std::vector<ChatMessage> history) {
  messages_ = std::move(history);
  if (!messages_.empty() && messages_.front().role == Role::system) messages_.erase(messages_.begin());
  const bool answered =
      messages_.empty() || (messages_.back().role == Role::assistant && messages_.back().tool_calls.empty());
  if (answered) return;
  const auto question = std::find_if(messages_.rbegin(), messages_.rend(),
                                     [](const ChatMessage& message) { return message.is_question(); });
  if (question != messages_.rend() && question->interruption == Interruption::none)
    question->interruption = Interruption::stopped;
}

void Conversation::make_room() {
  if (messages_.size() == messages_.capacity()) messages_.reserve(2 * messages_.size() + 4);
}

void Conversation::ask(std::string question, std::vector<ContentPart> parts) {
  question_ = messages_.size();
  open_ = true;
  messages_.push_back({.role = Role::user, .content = std::move(question), .parts = std::move(parts)});
}

void Conversation::steer(std::string text, std::vector<ContentPart> parts) {
  messages_.push_back(
      {.role = Role::user, .content = std::move(text), .steered = true, .parts = std::move(parts)});
}

void Conversation::answer(std::string text, std::vector<ReasoningBlock> reasoning) {
  messages_.push_back(
      {.role = Role::assistant, .content = std::move(text), .reasoning = std::move(reasoning)});
  open_ = false;
}

std::size_t Conversation::act(std::string text, std::vector<ToolCall> calls, std::uint32_t turn,
                              std::vector<ReasoningBlock> reasoning) {
  // Either all of it is written, or nothing: every call must have a result.
  std::vector<ChatMessage> written;
  written.reserve(1 + calls.size());
  std::vector<std::string> ids;
  for (ToolCall& call : calls) {
    const bool taken = has_call(call.id) || std::find(ids.begin(), ids.end(), call.id) != ids.end();
    if (call.id.empty() || taken)
      call.id = "call_" + std::to_string(turn) + "_" + std::to_string(ids.size() + 1);
    while (has_call(call.id) || std::find(ids.begin(), ids.end(), call.id) != ids.end()) call.id += "_";
    ids.push_back(call.id);
  }
  ChatMessage message{Role::assistant, std::move(text)};
  message.tool_calls = std::move(calls);
  message.reasoning = std::move(reasoning);
  written.push_back(std::move(message));
  for (std::string& id : ids) {
    ChatMessage result{Role::tool, std::string(not_started)};
    result.tool_call_id = std::move(id);
    written.push_back(std::move(result));
  }
  const std::size_t first = messages_.size() + 1;
  messages_.insert(messages_.end(), std::move_iterator(written.begin()), std::move_iterator(written.end()));
  return first;
}

void Conversation::interrupt(Interruption why) {
  if (std::exchange(open_, false)) messages_[question_].interruption = why;
}

std::vector<ChatMessage> Conversation::rendered(const std::string& system_prompt,
                                                const std::vector<bool>& sent) const {
  std::vector<ChatMessage> all;
  all.reserve(messages_.size() + 1);
  if (!system_prompt.empty()) all.push_back({Role::system, system_prompt});
  for (std::size_t i = 0; i < messages_.size(); ++i)
    if (i >= sent.size() || sent[i]) all.push_back(messages_[i]);
  return all;
}

bool Conversation::has_call(std::string_view id) const noexcept {
  return std::any_of(messages_.begin(), messages_.end(), [&](const ChatMessage& message) {
    return message.role == Role::tool && message.tool_call_id == id;
  });
}

}  // namespace agentcore::detail::turn
