// TurnData: the data of an agent since its first activity: history, budgets, and the turn in progress.
#pragma once

#include "core/leases.hpp"
#include "core/node.hpp"
#include "core/operation_id.hpp"
#include "tools/block_filter.hpp"
#include "turn/account.hpp"
#include "turn/acknowledgements.hpp"
#include "turn/answer_check.hpp"
#include "turn/call.hpp"
#include "turn/conversation.hpp"
#include "turn/sent_context.hpp"
#include "turn/turn_deadline.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/turn_events.hpp>
#include <agentcore/turn_result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::turn {

// The phase of a turn. The phases repeat until an answer has no tool calls.
enum class Phase : std::uint8_t {
  begun,       // its message is taken; next are the budgets
  asked,       // its question, or the results of its tools, are written; next is the model
  sending,     // the model call, or the summary, is registered (OutgoingCall); next is the client
  compacting,  // a model call that summarises older messages is open; then `asked` again
  calling,     // the model call is open
  answered,    // its answer has arrived
  read,        // its answer has arrived, no verb can abort the call any more, and it is not written yet
  refused,     // the calls of an answer that was cut off have been refused
  acting,      // its tools run
};

// An answer that was refused, while the model is asked for another one.
struct RefusedAnswer {
  std::string text;
  std::string correction;  // the message to the model
  std::size_t at = 0;      // the number of messages in the history: what was steered since comes after it
};

// A question that was open before a restart, and keeps its number when its call asks the same again.
struct RestoredQuestion {
  std::string call_id;
  bool is_approval = false;
  std::uint64_t number = 0;
  std::optional<std::uint64_t> hash = {};  // of its text and choices; nothing: not known

  bool operator==(const RestoredQuestion&) const = default;
};

// Whether a turn may still summarise what does not fit into a request.
enum class Summaries : std::uint8_t {
  possible,
  failed,   // in this turn: what does not fit is left out, and the next turn offers it to a summary again
  used_up,  // Compaction::budget_tokens: what does not fit is left out for good
};

// A model call that summarises messages.
struct SummaryCall {
  std::vector<bool> kept;         // the messages that are sent beside the summary
  std::size_t tokens_before = 0;  // of the request without the summary
  std::size_t tokens_kept = 0;    // of the request with it and all that follow it, but for the summary
  std::size_t tokens_left = 0;    // of `kept`: what a further summary of the turn will stand for
  std::uint32_t number = 0;       // among the model calls of the turn, from 1; 0: its begin was not emitted
  bool too_long = false;          // it was cut because its text is too long
  ChatError error = {};           // if the call failed
};

// A model call, or a summary, that is registered and not sent yet.
struct OutgoingCall {
  SharedAgentSpec spec;  // keeps the client
  LlmClient* client = nullptr;
  ChatRequest request;
  std::unique_ptr<ChatSink::Receiver> receiver;
};

// The outcome of the turn's last model call, but for its error. Before it has come: that of a call that was
// cut and reported nothing.
struct ModelAnswer {
  ChatOutcome::Kind kind = ChatOutcome::Kind::cancelled;
  FinishReason finish_reason = FinishReason::unknown;
  Usage usage = {.complete = false};
  std::vector<ToolCall> tool_calls = {};
  std::vector<ReasoningBlock> reasoning = {};
  std::vector<AnswerPart> order = {};
  std::optional<double> cost = {};
};

// An outcome that arrived during the cut of its call. Its Discarded follows the end of the turn.
struct LateAnswer {
  std::size_t deltas = 0;
  LateResult kind = LateResult::text;
  DiscardReason reason = DiscardReason::turn_over;
};

struct ActiveTurn {
  // What each piece of an answer reads and writes comes first.
  MessageId message;  // with which the turn began
  Phase phase = Phase::begun;
  bool goes_on = false;                    // its next phase is appended to the porch
  bool simulated = false;                  // without a model and without a history
  bool parked = false;                     // a beginning was withheld: Turns::go_on() continues
  bool delegated = false;                  // it is a part of a tool call of an ancestor
  std::uint32_t epoch = 0;                 // of the agent, when the turn began
  core::OperationId operation;             // its model call, or its summary
  std::unique_ptr<SummaryCall> summary;    // while one is made
  std::unique_ptr<OutgoingCall> outgoing;  // in Phase::sending
  std::shared_ptr<core::Lease> lease;      // the nearest; null: neither the agent nor an ancestor has one
  std::string text;                        // the answer so far
  DeliveredText delivered;  // what observers have of that answer, until it is written or refused
  std::optional<TurnDeadline> deadline;
  tools::BlockFilter filter;  // makes the deltas for observers from that answer; with ToolProtocol::text

  std::string cut_off;  // the kept part of an answer that a steered message has ended: is written before it
  ModelAnswer answer;
  bool usage_pending = false;              // a model call was sent whose usage is not in the result yet
  std::unique_ptr<RefusedAnswer> refused;  // the last answer, if the model is asked again because of it
  bool tool_ends_turn = false;             // the result of a tool is the answer of the turn
  std::uint32_t repairs = 0;               // how often the model was asked again because of its answer
  std::uint32_t unreadable = 0;            // of these: because its calls could not be read
  bool is_cut_off_again = false;           // in Phase::refused: an earlier answer was cut off, too
  bool was_cut_off = false;                // an answer with calls was, and the model was told
  std::uint32_t model_calls = 0;           // sent so far
  std::uint32_t attempt = 1;               // StoredTurn::attempt
  std::uint32_t tool_turns = 0;
  std::uint64_t prompt_tokens = 0;           // of the last model call, by our own count
  std::size_t request_end = 0;               // the number of messages in the stable part of the next request
  std::vector<std::shared_ptr<Call>> calls;  // of the last answer
  std::shared_ptr<TurnResult> result = std::make_shared<TurnResult>();
  Summaries summaries = Summaries::possible;
  bool tells_left_out = false;              // the event of the next request names all that is left out
  std::size_t windows_left_out = 0;         // since the last request
  Estimate reserved;                        // for the model call
  std::vector<RestoredQuestion> questions;  // that are not asked again yet
  std::optional<LateAnswer> late;           // reported after the end of the turn
  std::string stop_reason;                  // why it is being stopped, if the turn itself caused the stop
  std::unique_ptr<ActiveTurn> next_ended;   // of the turns that have ended: see TurnEnds::free_ended()

  // No call of the last answer is left to end.
  void clear_calls() noexcept {
    for (const std::shared_ptr<Call>& call : calls) call->release_request();
    calls.clear();
  }
};

struct TurnData final : core::AgentData {
  std::unique_ptr<ActiveTurn> turn;  // null: none is in progress
  Conversation conversation;
  ActiveTurn* ending = nullptr;  // the turn that ends before its answer, whose outcome may arrive meanwhile
  bool is_ending = false;        // a turn is over, and its TurnEnded is not emitted yet
  std::unique_ptr<ActiveTurn> next;  // created before the message of the next turn is taken
  std::uint32_t tool_turns = 0;      // of all turns: part of the ids of calls (J8)
  bool of_call = false;              // it works for one tool call, and is deleted with that
  core::NodeId origin = 0;           // of which the agent is a fork; 0: it is none (see tree::ForkOrigins)
  std::string ended_tasks;           // lines for the next turn's question: the tasks that have ended since
  SentContext sent;
  std::vector<std::string> tool_children;           // hashes of the names of children of agent tools
  std::uint64_t summary_tokens = 0;                 // used by all summaries of the agent
  std::unique_ptr<Accounts> accounts;               // null: no budget was ever granted
  std::shared_ptr<const AnswerCheck> answer_check;  // null: answers are not checked
};

inline TurnData& data_of(core::Node& node) {
  if (!node.data) node.data = std::make_unique<TurnData>();
  return static_cast<TurnData&>(*node.data);
}

// Null when no turn is in progress.
inline ActiveTurn* active_turn(const core::Node& node) noexcept {
  return node.data ? static_cast<const TurnData&>(*node.data).turn.get() : nullptr;
}

// True while a turn is in progress: its end is not emitted yet.
inline bool is_active(const core::Node& node) noexcept {
  return active_turn(node) != nullptr;
}

}  // namespace agentcore::detail::turn
