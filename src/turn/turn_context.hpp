// TurnContext: the state that all parts of the turn engine share.
#pragma once

#include "core/agent_table.hpp"
#include "core/call_begin.hpp"
#include "core/mutex.hpp"
#include "core/tree_lifetime.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/message_pool.hpp"
#include "mailbox/steer_box.hpp"
#include "turn/acknowledgements.hpp"
#include "turn/call_index.hpp"
#include "turn/call_pauses.hpp"
#include "turn/cut_trail.hpp"
#include "turn/end_reasons.hpp"
#include "turn/ended_turns.hpp"
#include "turn/operations.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/log.hpp>
#include <agentcore/tool_policy.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::turn {

// The functions of the registry of `spec` refuse other threads than that of this loop from now on.
void use_tools(const AgentSpec& spec, const std::shared_ptr<loop::Engine>& engine) noexcept;

struct TurnLimits {
  LlmClient* llm;  // for agents whose spec names none; may be null
  std::size_t max_answer_bytes;
  std::size_t max_result_bytes;
  std::size_t max_message_bytes;
  Duration tool_timeout;
  Duration question_timeout;
  std::size_t kept_results;
  Duration stop_grace;
  std::size_t max_lingering_calls;  // of an agent
  std::uint32_t max_reasks;         // of a turn
  const ToolPolicy* tool_policy;    // of the tree; it may be empty
  CutTrail* cuts;                   // null: no records of stops are made
};

// The notifications of the turn engine to the tree. @loop_thread
class TurnListener {
 public:
  // An operation or the turn of `node` has ended: the agent may settle, or begin its next message.
  virtual void on_activity_ended(core::Node& node) noexcept = 0;
  // The turn of `node` in progress is over: its message has its end. Called before the state of the agent
  // changes, and before TurnEnded.
  virtual void on_turn_over(core::Node& node) noexcept = 0;
  // An operation of `node` began to wait for a person or for the end of a pause, or no longer waits; or one
  // was closed or given up, or the turn is over, and no on_activity_ended() says so.
  virtual void on_waiting(core::Node& node) noexcept = 0;
  // A budget of `node` is used up: `node` and everything below it must be stopped.
  virtual void on_budget_exhausted(core::Node& node, std::string reason) = 0;
  // A running tool call sends a message to an agent below its own, whose turn is a part of the call.
  // `begin`: of that call; it begins with the turn of the message.
  virtual SendResult on_delegated(core::NodeId to, Message message, SendOptions options,
                                  std::shared_ptr<core::CallBegin> begin) = 0;

 protected:
  ~TurnListener() = default;
};

// The messages of the tree's agents, as far as a turn needs them.
struct Messages {
  mailbox::MessagePool& pool;
  mailbox::SteerBox& steers;
  Acknowledgements& acknowledgements;
};

// What the verbs of other threads read and write of the turns in progress.
struct Registries {
  Operations& operations;
  CallIndex& call_index;
  EndReasons& end_reasons;
};

// All @loop_thread. Once the tree is closed, its gate refuses every admission, and no function here logs,
// emits or finds an agent any more.
class TurnContext {
 public:
  TurnContext(core::AgentTable& agents, events::EventHub& events, loop::Engine& loop,
              core::TreeLifetime& memory, TurnListener& tree, Messages tree_messages, Registries registries,
              TurnLimits limits_of_turns)
      : table(agents),
        hub(events),
        engine(loop),
        lifetime(memory),
        listener(tree),
        messages(tree_messages),
        limits(limits_of_turns),
        cuts(limits_of_turns.cuts),
        operations(registries.operations),
        call_index(registries.call_index),
        end_reasons(registries.end_reasons),
        ended_turns(limits_of_turns.kept_results) {}

  // The agent of that id; null if it was deleted or the tree is closed.
  core::Node* find(core::NodeId agent) const noexcept { return hub.closed() ? nullptr : table.find(agent); }
  // The agent's id. Empty if there is no memory for it: for log records and errors.
  std::string name_of(const core::Node& node) const noexcept;
  // Passes a record to the log sink of the host at the end of the step.
  void log(LogLevel level, std::string_view message,
           std::initializer_list<LogField> fields) noexcept AGENTCORE_RUNS_HOST_CODE;
  // An operation or the turn of `node` has ended: the tree is notified at the end of the step.
  void end_activity(core::Node& node) noexcept AGENTCORE_RUNS_HOST_CODE {
    if (hub.porch.holds()) return hub.porch.note_ended(node.id());
    listener.on_activity_ended(node);
  }
  // A tool call of `node` has given its result: launches, and closes windows, as that requests. Runs code of
  // the host. `call_id`: also the id of a task.
  void follow_up(const core::Node& node, std::uint64_t turn, ToolRegistry& tools, const CallNames& call,
                 ToolResult& result) AGENTCORE_RUNS_HOST_CODE;
  // Emits that a late result of an operation was dropped.
  void discard(const core::Node& node, std::uint64_t turn, std::size_t deltas, LateResult kind,
               DiscardReason reason) noexcept AGENTCORE_RUNS_HOST_CODE;

  // The model call of the turn was registered, and is not sent: it has no outcome.
  void drop_outgoing(ActiveTurn& active) noexcept;

  // The agent has accepted what is being delivered to it.
  void note_accepted(const core::Node& node) noexcept {
    if (cuts) cuts->note_accepted(node);
  }

  // Chooses an identity if there is none. Throws std::bad_alloc.
  const std::string& own_identity();

  // Keeps the result of a turn that has ended, and emits TurnEnded.
  void emit_turn_ended(const core::Node& node, std::uint64_t turn, MessageId message,
                       const std::shared_ptr<const TurnResult>& result) noexcept AGENTCORE_RUNS_HOST_CODE;

  core::AgentTable& table;
  events::EventHub& hub;
  loop::Engine& engine;
  core::TreeLifetime& lifetime;
  TurnListener& listener;
  const Messages messages;
  const TurnLimits limits;
  CutTrail* const cuts;  // that of the limits
  Operations& operations;
  CallIndex& call_index;
  EndReasons& end_reasons;
  EndedTurns ended_turns;
  CallPauses call_pauses{*this};
  std::string identity;  // of the tree, in the idempotency keys of its calls; empty: none was needed yet
};

// On the stack wherever something is delivered to an agent. The delivery is an action of the agent (G1), and
// the tree's memory stays until it has returned.
class AgentAction {
 public:
  AgentAction(TurnContext& context, const core::Node& node) noexcept
      : entry_(context.lifetime), active_(context.table, node) {
    context.table.leases().check(node);
    if (context.cuts) delivery_.emplace(*context.cuts, node);
  }

 private:
  core::TreeLifetime::LoopEntry entry_;
  core::ActiveAgentGuard active_;
  std::optional<CutTrail::Delivery> delivery_;
};

// The same for an external input, which is a step: an outcome, a result, an answer, a timer.
class AgentEntry {
 public:
  AgentEntry(TurnContext& context, const core::Node& node) noexcept
      : action_(context, node), step_(context.hub.porch) {}

 private:
  AgentAction action_;
  events::Porch::Step step_;  // its end delivers, within the action
};

}  // namespace agentcore::detail::turn
