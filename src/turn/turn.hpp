// Turn: a light handle to the turn of one agent.
#pragma once

#include "core/gates.hpp"
#include "events/event_hub.hpp"
#include "turn/turn_data.hpp"

#include <cstdint>
#include <optional>

namespace agentcore::detail::turn {

// The result of check().
enum class Admission : std::uint8_t {
  granted,
  refused,  // the gate is closed, the epoch or the deadline has passed, or the tree is destroyed: the turn
            // must end
  over,     // the turn has ended
};

// The result of a part of a turn, for TurnRunner.
enum class Next : std::uint8_t {
  proceed,  // the next step follows at once
  wait,     // the turn continues when an outcome, a result or an answer comes
  ended,    // the turn has ended, or check() refused it: then TurnRunner ends it
};

// Copyable, valid as long as a core::TreeLifetime::LoopEntry keeps the agent's data. After code of the host
// has run, call check() before anything else: the turn may be over. @loop_thread
class Turn {
 public:
  // The turn of `node` that is in progress. There must be one, except for a use by of().
  explicit Turn(core::Node& node) noexcept
      : node_(&node), number_(node.turns), epoch_(active_turn(node)->epoch) {}
  // The same; nothing if no turn is in progress.
  static std::optional<Turn> of(core::Node& node) noexcept {
    return active_turn(node) ? std::optional<Turn>(node) : std::nullopt;
  }

  // Changes nothing, but that a lease that has run out stops its agent.
  Admission check() const noexcept {
    if (is_over()) return Admission::over;
    if (const auto& lease = active().lease; lease && !lease->holds()) return Admission::refused;
    return is_open() && !is_late() ? Admission::granted : Admission::refused;
  }
  bool is_admitted() const noexcept { return check() == Admission::granted; }
  bool is_over() const noexcept { return !active_turn(*node_) || node_->turns != number_; }
  // True if the agent may act in the epoch of the turn, whether or not the turn is over.
  bool is_open() const noexcept { return core::admits_turn(*node_, node_->load().generation(), epoch_); }
  // True if the deadline of the turn has passed; its timer may come later. Not if the turn is over.
  bool is_late() const noexcept { return active().deadline && active().deadline->has_passed(); }

  // True if no step may begin now, or with `all` no tool call either; then the turn is parked.
  bool parks(core::Withheld from) const noexcept {
    const bool parks = withheld() >= from;
    if (parks) active().parked = true;
    return parks;
  }
  // What is withheld from the turn.
  core::Withheld withheld() const noexcept {
    return core::withheld(*node_, active().delegated ? core::Grades::own : core::Grades::all);
  }

  core::Node& node() const noexcept { return *node_; }
  const AgentSpec& spec() const noexcept { return *node_->spec; }
  TurnData& data() const noexcept { return static_cast<TurnData&>(*node_->data); }
  ActiveTurn& active() const noexcept { return *data().turn; }  // unless the turn is over
  std::uint64_t number() const noexcept { return number_; }
  std::uint32_t epoch() const noexcept { return epoch_; }

  // Moves the agent along one edge of the state table, unless a verb came first: then returns false.
  bool try_change_state(AgentState from, AgentState to) const noexcept;
  // The same if the gate is open, and emits the change. Below a closed gate only the stop is emitted (X2).
  // Returns whether the turn may still act afterwards.
  bool change_state(events::EventHub& hub, AgentState from, AgentState to) const noexcept;

 private:
  core::Node* node_;
  std::uint64_t number_;
  std::uint32_t epoch_;
};

// The turn of that epoch was interrupted together with a subtree: writes the state of the agent, which is
// left to the loop.
void write_interrupted(core::Node& node, std::uint32_t epoch) noexcept;

// What has ended the turn of `node` that an admission refused.
DiscardReason why_refused(const core::Node& node) noexcept;

// Turn::try_change_state() for an agent without a turn of its own.
bool try_change_state(core::Node& node, std::uint32_t epoch, AgentState from, AgentState to) noexcept;

}  // namespace agentcore::detail::turn
