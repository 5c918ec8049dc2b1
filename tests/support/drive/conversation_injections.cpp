#include "support/drive/conversation_injections.hpp"

#include "support/observe/strict_history.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <string>
#include <utility>
#include <vector>

namespace agentcore::test {
namespace {

std::vector<ConversationTurn> turns(const Agent& agent) {
  const auto all = agent.turns();
  return all ? all.value() : std::vector<ConversationTurn>();
}

std::string inject_rewind(const Agent& agent, bool& ended) {
  const auto all = turns(agent);
  if (all.empty()) return {};
  const auto before = agent.conversation().value();
  const std::uint64_t turn = all[all.size() / 2].turn;
  const auto removed = agent.rewind(turn);
  ended = removed.has_value();
  if (!removed) return {};
  if (removed->empty() || !removed->front().is_question()) return "a rewind did not begin with a question";
  if (!is_valid_history(removed.value())) return "what a rewind has removed is not valid";
  const auto left = agent.conversation();
  if (left && left->size() > all[all.size() / 2].question) return "a rewind left a message";
  return {};
}

std::string inject_fork(const Agent& agent) {
  if (!agent.exists()) return {};
  const auto before = agent.conversation().value();
  const auto forked = agent.fork();
  if (!forked) return {};
  const auto after = agent.conversation();
  if (after && after.value() != before) return "a fork has changed its origin";
  const auto copy = forked->conversation();
  if (copy && (copy->size() > before.size() || !is_valid_history(copy.value())))
    return "the conversation of a fork is not valid";
  static_cast<void>(forked->terminate());
  return {};
}

std::string inject_truncate(const Agent& agent, MessageId turn) {
  const auto before = agent.conversation();
  const Result<void> truncated = agent.truncate_answer(turn, 2);
  const auto after = agent.conversation();
  if (truncated || !before || !after) return {};
  return before.value() == after.value() ? std::string() : "a refused change has changed the conversation";
}

}  // namespace

std::string history_problem(const Agent& agent, std::vector<ChatMessage>& valid) {
  if (!agent.exists()) return {};
  std::vector<ChatMessage> history = agent.conversation().value();
  if (history == valid) return {};
  if (!is_valid_history(history)) return "a history is not valid";
  if (const std::string why = refusal(history); !why.empty())
    return "a history that a provider refuses: " + why;
  valid = std::move(history);
  return {};
}

std::string change_conversation(Injection injection, const Agent& agent, MessageId message, bool& ended) {
  switch (injection) {
    case Injection::rewind:
      return inject_rewind(agent, ended);
    case Injection::regenerate:
      ended = agent.regenerate().accepted();
      return {};
    case Injection::fork:
      return inject_fork(agent);
    case Injection::truncate_answer:
      return inject_truncate(agent, message);
    default:
      static_cast<void>(agent.acknowledge({message, 1, 3}));
      return {};
  }
}

}  // namespace agentcore::test
