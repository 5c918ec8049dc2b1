// TreeShared: the state that the parts of one tree share.
#pragma once

#include "core/agent_access.hpp"
#include "core/agent_table.hpp"
#include "core/atomic.hpp"
#include "core/gates.hpp"
#include "core/mutex.hpp"
#include "core/tree_lifetime.hpp"
#include "events/event_hub.hpp"
#include "loop/engine.hpp"
#include "mailbox/cleared_messages.hpp"
#include "mailbox/message_pool.hpp"
#include "mailbox/steer_box.hpp"
#include "persist/persistence.hpp"
#include "tree/control_queue.hpp"
#include "tree/fork_origins.hpp"
#include "tree/ready_agents.hpp"
#include "turn/acknowledgements.hpp"
#include "turn/call_index.hpp"
#include "turn/cut_trail.hpp"
#include "turn/end_reasons.hpp"
#include "turn/operations.hpp"

#include <agentcore/agent_tree.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::detail::tree {

inline constexpr std::string_view runtime_gone_text = "the Runtime of this tree was destroyed";
inline constexpr std::string_view no_agent_text =
    "the agent does not exist: it was deleted, or its tree was destroyed";

// Each part of the tree (Scheduler, Settler, ...) has a reference to it, and each first half of a verb gets
// it.
class TreeShared {
 public:
  TreeShared(TreeCore* owner, core::TreeLifetime& memory, std::shared_ptr<loop::Engine> runtime,
             const TreeOptions& tree_options)
      : lifetime(memory),
        engine(std::move(runtime)),
        waker(engine->waker()),
        options(tree_options),
        cuts(tree_options.audit ? std::make_unique<turn::CutTrail>(*engine) : nullptr),
        table(engine->number_tree()),
        hub(owner, table, *engine),
        owner_(owner) {}

  core::TreeLifetime& lifetime;
  const std::shared_ptr<loop::Engine> engine;
  const std::shared_ptr<loop::Waker> waker;
  TreeOptions options;
  // Null if there is no TreeOptions::audit. Other threads read only that: what it has, and the option itself,
  // belong to the loop thread.
  const std::unique_ptr<turn::CutTrail> cuts;
  core::AgentTable table;
  mailbox::MessagePool pool;
  mailbox::SteerBox steers;
  mailbox::ClearedMessages cleared;
  turn::Acknowledgements acknowledgements;
  ForkOrigins forks;
  ControlQueue control;                         // verbs push, the loop takes
  ReadyAgents ready;                            // senders add, the loop takes
  std::vector<SharedAgentSpec> replaced_specs;  // destroyed when no function of the tree is on the stack
  std::shared_ptr<persist::Persistence> persistence;  // null: the tree has no store
  persist::MailNotes mail_notes;                      // of that, for senders
  core::Atomic<bool> closed{false};                   // the AgentTree was destroyed; set once
  // Of the verbs that close and open gates: see tree/stop.hpp.
  core::Mutex closing{core::LockRank::verbs};
  std::uint64_t withdrawals AGENTCORE_GUARDED_BY(closing) = 0;  // of deferred stops
  // Of pause and unpause: from the change of the bit to the push of its ControlOp.
  core::Mutex pausing{core::LockRank::pauses};
  events::EventHub hub;  // of the loop thread
  turn::Operations operations;
  turn::CallIndex call_index;
  turn::EndReasons end_reasons;

  // Null: the tree has no store. @loop_thread
  persist::Recorder* recorder() const noexcept { return persistence ? persistence->recorder() : nullptr; }
  // The agent's conversation is needed: reads it from the store, if that was not done. @loop_thread
  Result<void> load(core::Node& node) const { return persistence ? persistence->load(node) : Result<void>(); }

  // For the public functions of the loop thread, before they read or write anything: true, and logged, if
  // this thread is another (Engine::refuses_thread). After the end of the tree no thread is refused.
  // @threadsafe
  bool refuses_thread(const char* function) const noexcept {
    return !is_closed() && engine->refuses_thread(function);
  }

  bool is_closed() const noexcept { return closed.load(std::memory_order_acquire); }

  core::NodeId root() const noexcept { return table.root_sentinel().id(); }
  // The agent of that id: resolve() finds it until the tree is closed, reach() only while the Runtime exists,
  // too. Null: see missing(). @threadsafe
  core::Node* resolve(core::NodeId id) const noexcept { return is_closed() ? nullptr : table.find(id); }
  core::Node* reach(core::NodeId id) const noexcept { return engine->closed() ? nullptr : resolve(id); }
  // `runtime_gone` or `agent_not_found`.
  Errc missing() const noexcept { return engine->closed() ? Errc::runtime_gone : Errc::agent_not_found; }
  Error missing(std::string_view text) const {
    const Errc reason = missing();
    return {reason, std::string(reason == Errc::runtime_gone ? runtime_gone_text : text)};
  }
  // For a verb that has closed a gate, or withheld beginnings: false if the loop thread is in an action of
  // `root`, or of an agent below it if `with_subtree`. To be read after the verb took effect; the loop
  // publishes the active agent before it reads the gates. So an action that is not visible here reads them
  // later, and is refused (G1). @threadsafe
  bool is_quiet(const core::Node& root, bool with_subtree, bool with_root = true) const noexcept;
  // How many messages wait for the agent. What a verb has dropped does not count, from its return on: a
  // closed gate has dropped all. @threadsafe
  std::size_t queue_length(const core::Node& node, core::NodeId id) const noexcept;
  // True if the message of that cell, which the loop has collected from the mailbox of the agent, is among
  // them. @loop_thread
  bool waits(const core::Node& node, std::uint32_t number) const noexcept;
  // A handle that keeps the tree's memory alive. @threadsafe
  Agent handle(core::NodeId id) const noexcept { return core::AgentAccess::make(owner_, id); }
  bool owns(const Agent& agent) const noexcept { return core::AgentAccess::core(agent) == owner_; }

 private:
  TreeCore* const owner_;
};

// Creates a ControlOp for that agent, with its name if `names_agent`; null when an allocation fails.
std::unique_ptr<ControlOp> op_for(const TreeShared& tree, core::NodeId id, bool names_agent) noexcept;
// The same with an origin; `reports`: also with the texts for a report.
std::unique_ptr<ControlOp> op_for(const TreeShared& tree, core::NodeId id, bool reports,
                                  std::string_view caller, std::string_view reason) noexcept;

// The same for a stop or a delete, which has a record if the tree has a StopAudit.
std::unique_ptr<ControlOp> closing_op_for(const TreeShared& tree, core::NodeId id, bool reports,
                                          std::string_view caller, std::string_view reason,
                                          StopWhen when) noexcept;
// The operation of a stop or a delete is called now. Throws std::bad_alloc.
void note_call(const TreeShared& tree, ControlOp& op, StopWhen when);
// A stop or a delete has just closed the gate, or is pending from now on.
void note_effect(const TreeShared& tree, ControlOp& op) noexcept;

// core::look() at the agent of that id.
inline core::GateView look(const core::Node& node, core::NodeId id) noexcept {
  return core::look(node, core::generation_of(id));
}

// On the stack wherever the loop enters the tree.
using core::TreeLifetime;
using LoopEntry = TreeLifetime::LoopEntry;

}  // namespace agentcore::detail::tree
