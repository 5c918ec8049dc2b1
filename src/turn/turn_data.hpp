// TurnData: what an agent has once it did something: its history, and the turn that is under way.
#pragma once

#include "core/node.hpp"
#include "tools/block_filter.hpp"
#include "tools/registry.hpp"
#include "turn/account.hpp"
#include "turn/conversation.hpp"

#include <agentcore/interaction.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::turn {

// Where a turn stands. It goes round, until an answer asks for no tools.
enum class Phase : std::uint8_t {
  asked,     // its question, or the results of its tools, are written; next is the model
  calling,   // the model is at work
  answered,  // its answer is there and not written yet
  acting,    // its tools are at work
};

// One call of an answer. What became of it stands in the history and in the turn's steps at every moment, as
// if the turn ended right then (G8, G9).
struct PendingCall {
  enum class State : std::uint8_t { waiting, asking, approved, running, done };

  State state = State::waiting;
  std::size_t message = 0;   // of its result, in the conversation
  std::size_t step = 0;      // in the turn's result
  std::uint32_t flight = 0;  // slot + 1, from before it is asked for, or begun, until it is done
  bool told = false;         // its beginning was told: then its end is, too
  std::string arguments;     // as the model wrote them
  tools::Found found;        // the tool, once it was looked up
};

struct ActiveTurn {
  Phase phase = Phase::asked;
  bool advancing = false;    // advance() is on the stack
  bool simulated = false;    // without a model and without a history
  std::uint32_t epoch = 0;   // of the agent, when the turn began
  std::uint32_t flight = 0;  // slot + 1 of its model call; 0: none
  std::string text;          // the answer so far; dropped when the turn is interrupted (A19)
  tools::BlockFilter words;  // makes the deltas for observers from that answer; with ToolProtocol::text
  ChatOutcome answer;        // outcome of the last model call; `cancelled` while the call is open
  bool uncounted = false;    // a model call was sent whose usage is not in the result yet
  std::string unread;        // the last answer, while the model is asked to repair its calls; else empty
  std::uint32_t repairs = 0;
  std::uint32_t tool_turns = 0;
  std::uint64_t prompt_tokens = 0;  // of the last model call, by our own count
  std::vector<PendingCall> calls;   // of the last answer
  std::shared_ptr<InteractionResult> result = std::make_shared<InteractionResult>();
  Estimate reserved;        // for the model call
  std::string stop_reason;  // why it is being stopped, where the turn itself knows
};

// A window, as the agent knows it.
struct SeenWindow {
  std::size_t opened_at = 0;  // how many messages there were when it was first seen
  bool shown = true;          // false: trimmed
};

// What of the history and of the windows the model is still sent, and what it costs.
struct SentContext {
  std::vector<std::size_t> tokens;              // of each message, as far as counted
  std::vector<bool> messages;                   // as far as decided; the others are sent
  std::map<std::uint64_t, SeenWindow> windows;  // by number
};

struct TurnData final : core::AgentData {
  Conversation conversation;
  std::unique_ptr<ActiveTurn> turn;  // null: none is under way
  ActiveTurn* ending = nullptr;      // the turn whose model call is being cut: its outcome may come meanwhile
  std::unique_ptr<ActiveTurn> next;  // made before the message of the next turn is taken
  std::uint32_t tool_turns = 0;      // of all turns: part of the ids of calls (J8)
  std::string ended_tasks;           // lines for the next turn's question: the tasks that have ended since
  SentContext sent;
  std::unique_ptr<Accounts> accounts;  // null: no budget was ever granted
};

inline TurnData& data_of(core::Node& node) {
  if (!node.data) node.data = std::make_unique<TurnData>();
  return static_cast<TurnData&>(*node.data);
}

// Null when no turn is under way.
inline ActiveTurn* active_turn(const core::Node& node) noexcept {
  return node.data ? static_cast<const TurnData&>(*node.data).turn.get() : nullptr;
}

}  // namespace agentcore::turn
