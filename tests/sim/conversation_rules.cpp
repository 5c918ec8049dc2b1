#include "sim/conversation_rules.hpp"

#include <algorithm>
#include <vector>

namespace agentcore::sim {
namespace {

bool begins_with(const std::string& text, const std::string& word) {
  return text.starts_with(word) && (text.size() == word.size() || text[word.size()] == ' ');
}

// The words of ended tasks may stand before those of the message.
bool has_word(const std::vector<ChatMessage>& history, const std::string& word) {
  return std::ranges::any_of(history, [&](const ChatMessage& message) {
    const std::string text = message.content();
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
      if ((at == 0 || text[at - 1] == '\n') && begins_with(text.substr(at), word)) return true;
    return false;
  });
}

}  // namespace

void ConversationRules::sent(MessageId id, const std::string& text) {
  words_[id] = text.substr(0, text.find(' '));
}

void ConversationRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentCreated>() != nullptr || event.get<AgentDeleted>() != nullptr ||
      event.get<ConversationChanged>() != nullptr)
    changed(id);
  if (const auto* ended = event.get<TurnEnded>()) {
    const auto word = words_.find(ended->message);
    if (word == words_.end() || ended->result->outcome != TurnOutcome::completed) return;
    const auto history = event.agent().conversation();
    if (history && has_word(history.value(), word->second)) in_history_.insert(ended->message);
  }
  if (const auto* stored = event.get<MessagePersisted>(); stored != nullptr && stored->ended) {
    if (!in_history_.contains(stored->message)) return;
    // Perhaps it was rewound meanwhile.
    const auto history = event.agent().conversation();
    const std::string& word = words_[stored->message];
    if (history && !word.empty() && has_word(history.value(), word)) stored_[id].insert(word);
  }
}

void ConversationRules::check_restored(const AgentTree& tree) const {
  for (const auto& [id, words] : stored_) {
    const auto agent = tree.find(id);
    if (!agent) continue;
    const auto history = agent.value().conversation();
    if (!history) continue;
    for (const std::string& word : words)
      verdict_.require(has_word(history.value(), word), "G14",
                       "the store had a turn with " + word + ", and it is not in the conversation of " + id);
  }
}

}  // namespace agentcore::sim
