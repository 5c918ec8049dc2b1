#include "turn/conversation.hpp"

#include <utility>

namespace agentcore::turn {

void Conversation::ask(std::string question) {
  messages_.push_back({Role::user, std::move(question)});
}

void Conversation::answer(std::string text) {
  messages_.push_back({Role::assistant, std::move(text)});
}

void Conversation::interrupt(Interruption why) {
  if (!messages_.empty() && messages_.back().role == Role::user) messages_.back().interruption = why;
}

std::vector<ChatMessage> Conversation::rendered(const std::string& system_prompt) const {
  std::vector<ChatMessage> all;
  all.reserve(messages_.size() + 1);
  if (!system_prompt.empty()) all.push_back({Role::system, system_prompt});
  all.insert(all.end(), messages_.begin(), messages_.end());
  return all;
}

}  // namespace agentcore::turn
