// Turns: takes one message to one result.
#pragma once

#include "core/agent_table.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "turn/conversation.hpp"
#include "turn/flights.hpp"

#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/message.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::turn {

// What an agent has once it took its first message: its history, and the turn that is under way.
struct TurnData final : core::AgentData {
  Conversation conversation;
  bool active = false;       // a turn has begun and not ended
  std::uint32_t epoch = 0;   // of the agent, when the turn began
  std::uint32_t flight = 0;  // slot + 1 of its call; 0: not started
  std::string text;          // the answer so far; dropped when the turn is interrupted (A19)
};

// The part of the tree that a turn drives.
class TurnOwner {
 public:
  // A call of `node` has ended, whatever became of its turn.
  virtual void let_go(core::Node& node) = 0;
  // `node` may take its next message.
  virtual void schedule(core::Node& node) = 0;

 protected:
  ~TurnOwner() = default;
};

// A turn, step by step: message -> conversation -> model call -> deltas -> answer -> end. Every step goes
// through the agent's gate with the epoch of its beginning; where it is refused, the turn ends right there,
// its history marked. Tools will be the step between the answer and the end. All @loop_thread.
class Turns {
 public:
  struct Limits {
    LlmClient* llm;
    std::size_t max_answer_bytes;
  };
  Turns(core::AgentTable& table, events::EventHub& hub, loop::Engine& engine, TurnOwner& owner, Limits limits)
      : table_(table), hub_(hub), engine_(engine), owner_(owner), limits_(limits) {}

  // Begins a turn with `message`; the agent is idle, its gate was asked and Stepping is published.
  void begin(core::Node& node, Message message);

  // Ends the turn that is under way, if any, as aborted or stopped by what the gates say: cuts its call,
  // marks the history, tells the end. The call itself ends when its client lets go of it.
  void interrupt(core::Node& node);
  // The same, but only for a turn that began before `epoch`.
  void interrupt_before(core::Node& node, std::uint32_t epoch);

  // True while a turn is under way (its end not told yet).
  static bool is_active(const core::Node& node) noexcept;

  // Forgets a call that did not let go in time; what it still says is dropped.
  void abandon(std::uint32_t slot);

  Flights& flights() noexcept { return flights_; }
  const Flights& flights() const noexcept { return flights_; }

  // From the client, through its sink.
  void on_delta(std::uint32_t slot, std::uint64_t serial, std::string_view text);
  void on_outcome(std::uint32_t slot, std::uint64_t serial, ChatOutcome outcome);

 private:
  Flight* find(std::uint32_t slot, std::uint64_t serial) noexcept;
  void begin_call(core::Node& node, const AgentSpec& spec, LlmClient& client);
  void run_handler(core::Node& node, const AgentSpec& spec, const Message& message);
  void complete(core::Node& node, const ChatOutcome& outcome);
  void fail(core::Node& node, const ChatOutcome& outcome);
  void end(core::Node& node, TurnOutcome outcome, std::string_view text, const ChatOutcome& details);
  void discard(core::Node& node, std::uint64_t turn, std::size_t deltas, const ChatOutcome& outcome);
  bool may_go_on(core::Node& node, std::uint32_t epoch);
  bool start(core::Node& node, std::uint32_t epoch, AgentState to);
  bool change(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to);
  bool step_to(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to);

  core::AgentTable& table_;
  events::EventHub& hub_;
  loop::Engine& engine_;
  TurnOwner& owner_;
  Limits limits_;
  Flights flights_;
};

}  // namespace agentcore::turn
