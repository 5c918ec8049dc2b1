// CutTrail: what stops and deletes have cut, collected for their records until the agents have settled.
#pragma once

#include "core/node.hpp"
#include "core/references.hpp"
#include "loop/engine.hpp"
#include "turn/operations.hpp"
#include "turn/turn_data.hpp"

#include <agentcore/stop_audit.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::turn {

// Of one agent whose gate is closed.
struct AgentCuts {
  struct Entry {
    OperationId id;          // while it may still be given up; none: it is over
    CutOperation operation;  // without the name of the agent
  };
  std::vector<Entry> entries;
  std::size_t after_gate = 0;
  std::size_t discarded = 0;
  std::size_t discarded_deltas = 0;
  bool complete = true;  // false: there was no memory for an entry
};

// Exists only in a tree with a StopAudit. The parts of the turn engine note here what they cut, accept and
// drop; the records take it when an agent settles. The order is that of the cuts, so an operation that ends
// before its stop was read is in it, too. All @loop_thread.
class CutTrail {
 public:
  explicit CutTrail(loop::Engine& engine) : engine_(engine) {}
  CutTrail(const CutTrail&) = delete;
  CutTrail& operator=(const CutTrail&) = delete;

  // On the stack while something is delivered to `node`. Whether the gate was closed is read when the
  // delivery begins, and independently of the admission that is asked afterwards.
  class Delivery {
   public:
    Delivery(CutTrail& trail, const core::Node& node) noexcept;
    ~Delivery() { trail_.late_delivery_ = before_; }
    Delivery(const Delivery&) = delete;
    Delivery& operator=(const Delivery&) = delete;

   private:
    CutTrail& trail_;
    core::NodeId before_;
  };
  // `node` has accepted what is being delivered.
  void note_accepted(const core::Node& node) noexcept;
  // A late result of an operation of `node` was dropped; ignored if the agent is not closed, or has settled.
  void note_discarded(const core::Node& node, std::size_t deltas) noexcept;

  // The model call of a turn before it is cut and its usage is settled.
  struct OpenCall {
    bool is_open = false;
    OperationId id;
    std::uint64_t reserved = 0;
    std::uint64_t counted_before = 0;  // the tokens of the turn
  };
  static OpenCall open_call(const ActiveTurn& turn) noexcept;
  // A turn of `node` was ended by a stop: its model call, and all its tool calls.
  void add_turn(const core::Node& node, std::uint64_t number, const ActiveTurn& ended,
                const OpenCall& call) noexcept;
  // A background task was cut; ignored if its agent is not closed.
  void add_task(const Operation& task, ToolOutcome outcome) noexcept;
  // An operation was given up. `operation` describes it if this trail does not have it.
  void abandon(const core::Node& node, OperationId id, CutOperation operation) noexcept;

  // What there is of that agent, or null. Valid until the next function here.
  const AgentCuts* find(core::NodeId agent) const noexcept;
  void remove(core::NodeId agent) noexcept { agents_.erase(agent); }
  // Adds what there is of an agent of that name to a record. Throws std::bad_alloc.
  static void append(const AgentCuts& cuts, const std::string& name, StopRecord& record);
  // How many of these agents it has (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;

 private:
  template <typename Add>
  void change(const core::Node& node, Add&& add) noexcept;

  loop::Engine& engine_;
  std::unordered_map<core::NodeId, AgentCuts> agents_;
  core::NodeId late_delivery_ = 0;  // the agent to which something is delivered behind its closed gate
};

}  // namespace agentcore::detail::turn
