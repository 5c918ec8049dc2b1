// ConversationRules: what the store has acknowledged of a conversation is there after a restart (G14).
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>
#include <agentcore/message.hpp>

#include <map>
#include <set>
#include <string>

namespace agentcore::sim {

class ConversationRules {
 public:
  explicit ConversationRules(Verdict& verdict) : verdict_(verdict) {}

  // A message was accepted; the first word of its text is one that no other has.
  void sent(MessageId id, const std::string& text);
  // It was edited.
  void edited(MessageId id) { words_.erase(id); }
  // The conversation of the agent was shortened.
  void changed(const std::string& agent) { stored_.erase(agent); }
  void see(const Event& event);
  void check_restored(const AgentTree& tree) const;
  void tree_ended() { in_history_.clear(); }

 private:
  Verdict& verdict_;
  std::map<MessageId, std::string> words_;
  std::set<MessageId> in_history_;                       // of turns that have completed
  std::map<std::string, std::set<std::string>> stored_;  // words, by the agent
};

}  // namespace agentcore::sim
