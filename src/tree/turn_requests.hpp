// TurnRequests: the host's requests about the turns of its agents. All @loop_thread.
#pragma once

#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/conversation.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::tree {

// Histories, budgets, questions, grants and background tasks, for Agent and AgentTree.
class TurnRequests {
 public:
  TurnRequests(TreeShared& tree, turn::Turns& turns) : tree_(tree), turns_(turns) {}

  Result<std::vector<ChatMessage>> conversation(core::NodeId id) const;
  Result<ConversationPage> page(core::NodeId id, std::size_t count, std::optional<std::size_t> end) const;
  Result<std::vector<ChatMessage>> context(core::NodeId id) const;
  std::string model(core::NodeId id) const;
  Spent spent(core::NodeId id, bool subtree) const;
  ChangeResult grant(core::NodeId id, const Budget& budget, bool subtree);
  // Replaces the agent's spec by a copy that `change` has changed. The history in the spec is left out: the
  // agent has it, and its system message becomes the system prompt.
  ChangeResult change_spec(core::NodeId id, const std::function<void(AgentSpec&)>& change);
  AnswerResult answer(std::string_view question_id, const Answer& answer);
  AnswerResult approve(std::string_view question_id, GrantScope scope);
  std::vector<OpenQuestion> questions() const;
  std::vector<Grant> grants() const;
  ChangeResult revoke(std::uint64_t grant_id);
  std::vector<RunningTask> tasks() const;
  MessageInfo message(MessageId id) const;

 private:
  TreeShared& tree_;
  turn::Turns& turns_;
};

}  // namespace agentcore::detail::tree
