// Functions that change the conversation of an agent: acknowledge and truncate answers, rewind, regenerate,
// fork. The conversation itself: Agent::conversation(). What is sent of it: ContextOptions.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore {

/// How far a person has seen or heard the answer of one model call.
struct Acknowledgement {
  MessageId message = {};  ///< The message of the turn: SendResult::id, TurnStarted::message.
  std::uint32_t call = 0;  ///< The model call: DeltaReceived::call, from 1.
  std::size_t bytes = 0;   ///< How much of its text, in bytes: of the deltas together, from the first.
};

/// Reports how far a person has seen or heard the answer that an agent is giving. If the answer is
/// interrupted and a part of it is kept (AgentSpec::partial_answers), exactly these bytes are kept, and not
/// what was delivered beyond them.
///
///     // `player` calls the function when the piece was played. `message` is that of TurnStarted.
///     auto deltas = agent.on<agentcore::DeltaReceived>([&](const agentcore::DeltaReceived& delta) {
///       std::size_t& end = bytes[delta.call];  // of the pieces of this model call
///       end += delta.text.size();
///       player.say(std::string(delta.text), [agent, seen = agentcore::Acknowledgement{message, delta.call,
///       end}] {
///         static_cast<void>(agentcore::acknowledge(agent, seen));
///       });
///     });
///
/// The greatest number counts, whatever the order of the calls. A number in the middle of a
/// character counts up to that character; one beyond what was delivered counts as all of it. One of an
/// earlier model call of the turn, or of a later one that has not begun, is ignored. An acknowledgement that
/// comes after the end of the turn changes nothing: see truncate_answer().
///
/// Errors: `agent_not_found`, `runtime_gone`, `turn_over` (the message is not that of the turn
/// in progress), `invalid_config` (`call` is 0). Never blocks.
/// @threadsafe
AGENTCORE_API Result<void> acknowledge(const Agent& agent, const Acknowledgement& seen);

/// Shortens the last answer of the conversation to its first `bytes` bytes: what was seen or heard of it. Use
/// it for voice, when a person interrupts an answer that is complete but not yet spoken to its end. A number
/// in the middle of a character counts up to that character. If only white space would be left, the answer is
/// removed, and its question is marked as interrupted. The answer is marked with Interruption::truncated,
/// unless it is marked already, and loses its reasoning, which belongs to the whole text.
///
///     if (!agentcore::truncate_answer(agent, message, heard)) std::puts("it is not the last answer");
///
/// `message` is the message of the turn of that answer. Emits ConversationChanged.
///
/// Errors: `turn_over` if that answer is not the last message of the conversation: the next
/// turn has begun, its own turn is in progress, or it had no answer; `agent_not_found`, `runtime_gone`,
/// `agent_terminating`, `out_of_memory`; in a tree with a store also those of Store::read(). An answer that
/// is not longer than `bytes` is not changed.
/// @loop_thread
AGENTCORE_API Result<void> truncate_answer(const Agent& agent, MessageId message, std::size_t bytes);

/// A part of a conversation.
struct ConversationPage {
  std::vector<ChatMessage> messages = {};  ///< A copy of these messages, the oldest first.
  std::size_t first = 0;                   ///< The index of the first of them in Agent::conversation().
  std::size_t total = 0;                   ///< How many messages the conversation has.
  /// The indexes in Agent::conversation() of those messages that stand for tool calls of the turn in progress
  /// which have not ended. They say what the model would read if the turn ended now.
  std::vector<std::size_t> open_calls = {};
};

/// Returns a copy of the last `count` messages before the index `end` of Agent::conversation(). Without
/// `end`: the last ones. An `end` beyond the conversation is that of the conversation. The rest of a long
/// conversation is not copied.
///
///     auto page = agentcore::conversation_page(agent, 50);
///     // The messages before these:
///     if (page && page->first > 0) page = agentcore::conversation_page(agent, 50, page->first);
///
/// Unlike a whole conversation, a page may begin in the middle of a turn, so it is no history for another
/// agent.
///
/// Errors: `agent_not_found`, `runtime_gone`, and those of Agent::conversation().
/// @loop_thread
AGENTCORE_API Result<ConversationPage> conversation_page(const Agent& agent, std::size_t count,
                                                         std::optional<std::size_t> end = {});

/// Where a turn is in a conversation.
struct ConversationTurn {
  std::uint64_t turn = 0;    ///< The number of the turn: TurnStarted::turn.
  std::size_t question = 0;  ///< The index of its question in Agent::conversation().
  bool ended = false;        ///< False: the turn is in progress.
};

/// Returns the turns of the conversation of an agent, the oldest first. The turns of AgentSpec::history have
/// the numbers 1, 2, ... in the order of their questions; the turns of the agent continue them. Turns without
/// a question in the conversation are not listed: those of a MessageHandler and of Agent::simulate(), and
/// those that rewind() has removed.
///
/// Errors: `agent_not_found`, `runtime_gone`; in a tree with a store also those of Store::read().
/// @loop_thread
AGENTCORE_API Result<std::vector<ConversationTurn>> turns_of(const Agent& agent);

/// Takes the conversation back to before a turn: removes its question and everything after it. A turn in
/// progress ends first, as by Agent::interrupt(). Messages that wait in the mailbox stay there. Background
/// tasks go on. Nothing that tools have done is undone, and budgets get nothing back. If the last
/// question that is left was left out of requests, or a message is removed that a summary stands for
/// (ContextOptions::compact), the messages for which no earlier summary stands are sent again, as far as
/// ContextOptions allows.
///
/// Returns the messages that were removed, the question first: a host that lets a person edit the question
/// sends the edited text as a new message. Lines about background tasks that have ended are not in the
/// questions: they go into the next question. Emits ConversationChanged.
///
///     auto removed = agentcore::rewind(agent, turn);
///     if (removed) editor.open(removed->front().content);
///
/// Errors: `turn_not_found` if turns_of() does not list the turn, `agent_not_found`, `runtime_gone`,
/// `agent_terminating`, `out_of_memory`; in a tree with a store also those of Store::read(). Then nothing is
/// changed. If an observer of the end of the turn has
/// caused the error, the turn has ended, and nothing else is changed. A stopped agent can be rewound; it
/// stays stopped. A turn of a MessageHandler goes on. May be called from any callback but a TokenCounter;
/// while a turn is ending, between its end and its TurnEnded, it is refused with `turn_over`.
/// @loop_thread
AGENTCORE_API Result<std::vector<ChatMessage>> rewind(const Agent& agent, std::uint64_t turn);

/// Sends the last question of the conversation again: removes its turn as rewind() does, and sends the
/// question as an urgent message (MessagePriority::urgent), with its images. Messages that were steered into
/// the removed turn are not sent again.
///
///     agentcore::SendResult sent = agentcore::regenerate(agent);
///     if (!sent) std::fprintf(stderr, "refused: %s\n", to_string(sent.reason).data());
///
/// Reasons for a refusal: those of Agent::send(), `turn_not_found` if the conversation has no question, and
/// `turn_over` while a turn is ending, as for rewind(). Then nothing is changed. May be called from any
/// callback but a TokenCounter.
/// @loop_thread
AGENTCORE_API SendResult regenerate(const Agent& agent, SendOptions options = {});

/// Options of fork().
struct ForkOptions {
  /// AgentSpec::id of the new agent. Empty: an id is generated.
  std::string id = {};
  /// The last turn that the new agent has: an ended turn of turns_of(). Empty: the last ended turn; if there
  /// is none, the conversation of the new agent is empty.
  std::optional<std::uint64_t> at = {};
};

/// Creates a sibling of an agent, with the same parent, a copy of its spec, and a copy of its conversation up
/// to the end of a turn. The ids of tool calls in it stay the same. A summary is copied, too, as far as the
/// new agent has all messages for which it stands. The agent itself is not changed, and may be busy or
/// stopped; the new one is `idle`.
///
/// The new agent has the budgets of the spec, that of its summaries included, from zero; budgets of ancestors
/// count it like any other child.
/// It has no children, and nothing that runs: no queued messages, questions, background tasks or grants, no
/// pause and no lease of its own (AgentSpec::lease is not copied).
///
///     agentcore::Agent other = agentcore::fork(agent, {.id = "draft-2", .at = 3}).value();
///
/// Errors: `turn_not_found`, and those of AgentTree::create() and Agent::create_child(); in a tree with a
/// store also those of Store::read().
/// @loop_thread
AGENTCORE_API Result<Agent> fork(const Agent& agent, ForkOptions options = {});

}  // namespace agentcore
