// Conversation: the history of one agent, valid after every change (G8).
#pragma once

#include <agentcore/chat.hpp>

#include <string>
#include <vector>

namespace agentcore::turn {

class Conversation {
 public:
  // The question that begins a turn. It stays, however the turn ends (X22).
  void ask(std::string question);
  // The answer to the last question.
  void answer(std::string text);
  // The last question will get no answer. Nothing that the model had begun to say is kept (A19).
  void interrupt(Interruption why);

  const std::vector<ChatMessage>& messages() const noexcept { return messages_; }
  // As a provider gets it: the system prompt, if any, and then the history.
  std::vector<ChatMessage> rendered(const std::string& system_prompt) const;

 private:
  std::vector<ChatMessage> messages_;
};

}  // namespace agentcore::turn
