#include "tree/conversation_verbs.hpp"

#include "core/gates.hpp"
#include "tree/mailboxes.hpp"

#include <algorithm>
#include <cassert>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace agentcore::detail::tree {
namespace {

using core::Node;

// The place of a turn in the conversation; null: it is not there.
const turn::TurnPlace* place_of(const turn::Conversation& conversation, std::uint64_t turn) noexcept {
  const std::vector<turn::TurnPlace>& turns = conversation.turns();
  const auto found = std::find_if(turns.begin(), turns.end(),
                                  [turn](const turn::TurnPlace& place) { return place.turn == turn; });
  return found == turns.end() ? nullptr : &*found;
}

// How many messages Agent::conversation() has before those of the turns.
std::size_t messages_before(const Node& node) noexcept {
  return turn::system_prompt_of(*node.spec).empty() ? 0 : 1;
}

Error no_turn(std::uint64_t turn) {
  return {Errc::turn_not_found,
          "turn " + std::to_string(turn) + " is not in the conversation of the agent; see Agent::turns()"};
}

}  // namespace

turn::TurnData* ConversationVerbs::find(core::NodeId id, Error& why) const {
  Node* const node = tree_.reach(id);
  if (!node || !node->spec) {
    why = tree_.missing(no_agent_text);
    return nullptr;
  }
  if (look(*node, id).effective == AgentState::terminating) {
    why = {Errc::agent_terminating, "the agent is being deleted"};
    return nullptr;
  }
  if (auto loaded = tree_.load(*node); !loaded) {
    why = loaded.error();
    return nullptr;
  }
  turn::TurnData& data = turn::data_of(*node);
  if (!data.is_ending) return &data;
  why = {Errc::turn_over, "a turn of the agent is just ending; wait for its TurnEnded"};
  return nullptr;
}

Result<std::vector<ConversationTurn>> ConversationVerbs::turns_of(core::NodeId id) const {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  Node* const node = tree_.reach(id);
  if (!node || !node->spec) return tree_.missing(no_agent_text);
  if (auto loaded = tree_.load(*node); !loaded) return loaded.error();
  std::vector<ConversationTurn> all;
  if (!node->data) return all;
  const turn::Conversation& conversation = static_cast<const turn::TurnData&>(*node->data).conversation;
  for (const turn::TurnPlace& place : conversation.turns())
    all.push_back({place.turn, place.question + messages_before(*node), true});
  if (conversation.is_open()) all.back().ended = false;
  return all;
}

Result<void> ConversationVerbs::truncate_answer(core::NodeId id, MessageId message, std::size_t bytes) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  try {
    Error why;
    turn::TurnData* const data = find(id, why);
    if (!data) return why;
    const LoopEntry entry(tree_.lifetime);
    turn::Conversation& conversation = data->conversation;
    const bool is_last = message && !conversation.turns().empty() && !conversation.is_open() &&
                         conversation.ends_with_answer() && conversation.turns().back().message == message;
    if (!is_last)
      return Error{Errc::turn_over, "the answer to message " + to_string(message) +
                                        " is not the last message of the conversation"};
    const std::uint64_t turn = conversation.turns().back().turn;
    const std::size_t at = conversation.messages().size() - 1;
    if (!conversation.shorten_answer(bytes)) return {};
    data->sent.keep_first(at, conversation);
    report(id, ConversationChange::truncated, turn, at);
    return {};
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

Result<std::vector<ChatMessage>> ConversationVerbs::rewind(core::NodeId id, std::uint64_t turn) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  try {
    Error why;
    turn::TurnData* const data = find(id, why);
    if (!data) return why;
    const LoopEntry entry(tree_.lifetime);
    if (!place_of(data->conversation, turn)) return no_turn(turn);
    std::vector<ChatMessage> removed;
    removed.reserve(data->conversation.messages().size() + 1);  // the end of the turn may write one more
    data->ended_tasks.reserve(data->ended_tasks.size() + data->conversation.tasks_since(turn));
    if (Error problem = take_back(id, turn, removed); problem.code != Errc::none) return problem;
    return removed;
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

SendResult ConversationVerbs::regenerate(core::NodeId id, SendOptions&& options) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  try {
    Error why;
    turn::TurnData* const data = find(id, why);
    if (!data) return SendResult{why.code};
    const LoopEntry entry(tree_.lifetime);
    const turn::Conversation& conversation = data->conversation;
    if (conversation.turns().empty()) return SendResult{Errc::turn_not_found};
    const turn::TurnPlace last = conversation.turns().back();
    const ChatMessage& question = conversation.messages()[last.question];
    Message again{.text = std::string(conversation.text_of(last)),
                  .parts = question.parts(),
                  .priority = MessagePriority::urgent};
    std::vector<ChatMessage> removed;
    removed.reserve(conversation.messages().size() + 1);
    data->ended_tasks.reserve(data->ended_tasks.size() + last.tasks);
    auto kept = options || options.deadline ? std::make_unique<SendOptions>(std::move(options)) : nullptr;
    // First, so that nothing is changed if the message is refused.
    const SendResult sent = tree::send(tree_, id, std::move(again), std::move(kept));
    if (sent) static_cast<void>(take_back(id, last.turn, removed));  // fails only if a callback was first
    return sent;
  } catch (const std::bad_alloc&) {
    return SendResult{Errc::out_of_memory};
  }
}

// Removes the turn and what follows it. `removed` has room for all messages.
Error ConversationVerbs::take_back(core::NodeId id, std::uint64_t turn, std::vector<ChatMessage>& removed) {
  turns_.interrupt(*tree_.reach(id));
  // Observers of the end may have done anything.
  Error why;
  turn::TurnData* const data = find(id, why);
  if (!data) return why;
  const turn::TurnPlace* const place = place_of(data->conversation, turn);
  if (!place) return no_turn(turn);
  const std::size_t kept = place->question;
  data->conversation.take_back(*place, removed, data->ended_tasks);
  data->sent.keep_first(kept, data->conversation);
  report(id, ConversationChange::rewound, turn, kept);
  if (Node* const node = tree_.reach(id)) scheduler_.schedule(*node);
  return {};
}

void ConversationVerbs::report(core::NodeId id, ConversationChange change, std::uint64_t turn,
                               std::size_t kept) noexcept {
  const Node& node = *tree_.reach(id);
  const std::size_t before = messages_before(node);
  hub_.emit(node, [&](Agent agent) {
    return ConversationChanged{std::move(agent), change, turn, kept + before};
  });
}

}  // namespace agentcore::detail::tree
