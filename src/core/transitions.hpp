// Transitions: every change of an agent's packed state, as a pure function of the previous state.
#pragma once

#include "core/packed_state.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

namespace agentcore::detail::core {

// The compare-and-set sites compute the desired value by these functions and nothing else; the model has them
// under the same names (tests/model/transitions.pml). A result of nullopt refuses: the packed state stays as
// it is. Each result is an edge of the state table or keeps the state, and a verb that has taken effect gives
// a new epoch (B13, F6; tests/unit/core/transitions_test.cpp), unless it ends no turn: a hold, a pause, a
// deferred stop, a stop that widens one which settles. A closed gate has no grade. What a function must know
// besides the packed state is in its parameters:
//
//  - `is_settled`: the mailbox head is closed with the epoch of this packed state. A stopped agent whose head
//    is not has a stop that is being widened to its subtree, and has not settled since.
//  - `below_closed`: an ancestor has closed its gate for its subtree.

constexpr Gate stop_gate(bool cascade) noexcept {
  return cascade ? Gate::stop_tree : Gate::stop_self;
}

// A stop, below open gates. For an agent that was stopped without its children, a stop with them widens the
// first stop: an agent that has stopped stays stopped, and settles once more; one that is stopping settles
// when its children have settled.
constexpr std::optional<PackedState> after_stop(PackedState from, bool cascade) noexcept {
  if (from.is_open() && can_process(from.state()))
    return from.with(AgentState::stopping).with(stop_gate(cascade)).with(Grade::none).next_epoch();
  if (from.gate() != Gate::stop_self || !cascade) return std::nullopt;
  const PackedState widened = from.with(Gate::stop_tree);
  if (from.state() == AgentState::stopping) return widened;
  return from.state() == AgentState::stopped ? std::optional(widened.next_epoch()) : std::nullopt;
}

// A resume, of the agent itself or of an agent that was stopped by an ancestor which is resumed.
constexpr std::optional<PackedState> after_resume(PackedState from, bool is_settled) noexcept {
  if (from.state() != AgentState::stopped || from.gate() == Gate::terminate || !is_settled)
    return std::nullopt;
  return from.with(AgentState::idle).with(Gate::open).next_epoch();
}

// A delete. A stop in progress takes precedence (X13), the agent's own or one below it: then the delete
// closes the gate and leaves the state to the stop.
constexpr std::optional<PackedState> after_terminate(PackedState from, bool below_closed,
                                                     bool is_settled) noexcept {
  if (from.gate() == Gate::terminate) return std::nullopt;
  const PackedState closed = from.with(Gate::terminate).with(Grade::none);
  if (can_process(from.state()))
    return closed.with(below_closed ? AgentState::stopping : AgentState::terminating).next_epoch();
  const bool stops_below = from.gate() == Gate::stop_self && below_closed;
  if (from.state() == AgentState::stopped && is_settled && !stops_below)
    return closed.with(AgentState::terminating);
  return closed;
}

// An abort of the model call.
constexpr std::optional<PackedState> after_abort(PackedState from) noexcept {
  if (!from.is_open() || from.state() != AgentState::waiting_llm) return std::nullopt;
  return from.with(AgentState::idle).next_epoch();
}

// An interrupt of the turn in progress, whatever the agent does in it. `hold`: its mailbox is held, too.
constexpr std::optional<PackedState> after_interrupt(PackedState from, bool hold) noexcept {
  if (!from.is_open() || !can_process(from.state()) || from.state() == AgentState::idle) return std::nullopt;
  const PackedState idle = from.with(AgentState::idle).with(layout::interrupted, true).next_epoch();
  return hold ? idle.with(layout::hold, true) : idle;
}

// The mailbox is held, or released.
constexpr std::optional<PackedState> after_hold(PackedState from, bool hold) noexcept {
  if (from.is_free() || from.is_held() == hold) return std::nullopt;
  return from.with(layout::hold, hold);
}

// The subtree is paused, or unpaused.
constexpr std::optional<PackedState> after_pause(PackedState from, bool pause) noexcept {
  if (from.is_free() || from.is_paused() == pause) return std::nullopt;
  return from.with(layout::pause, pause);
}

// A deferred stop or delete. A stricter one replaces a softer one.
constexpr std::optional<PackedState> after_stop_request(PackedState from, Grade grade) noexcept {
  if (!from.is_open() || !can_process(from.state()) || grade <= from.stop_grade()) return std::nullopt;
  return from.with(grade);
}

// A deferred stop is withdrawn.
constexpr std::optional<PackedState> after_withdraw(PackedState from) noexcept {
  if (from.is_free() || from.stop_grade() == Grade::none) return std::nullopt;
  return from.with(Grade::none);
}

// The beginning of a turn of an idle agent, unless a verb came first. Each turn has an epoch of its own.
// `passes_hold`: the turn is a part of a tool call, and a hold of the mailbox does not keep it back.
constexpr std::optional<PackedState> after_begin(PackedState now, std::uint32_t epoch, AgentState to,
                                                 bool passes_hold = false) noexcept {
  if (now.epoch() != epoch || !now.is_open() || (now.is_held() && !passes_hold) ||
      now.state() != AgentState::idle || now.is_paused() || now.stop_grade() != Grade::none)
    return std::nullopt;
  return now.with(to).with(layout::interrupted, false).next_epoch();
}

// A step of a turn that began in `epoch`: `from` to `to`, unless a verb came first.
constexpr std::optional<PackedState> after_step(PackedState now, std::uint32_t epoch, AgentState from,
                                                AgentState to) noexcept {
  if (now.epoch() != epoch || !now.is_open() || now.state() != from) return std::nullopt;
  return now.with(to);
}

// The effective state `imposed` (stopping or terminating) becomes the agent's own, written by a walk down. A
// stopped agent becomes terminating only when everything below it has stopped, too.
constexpr std::optional<PackedState> after_imposed(PackedState from, AgentState imposed,
                                                   bool is_settled) noexcept {
  const bool deletes = imposed == AgentState::terminating;
  const bool deletes_stopped =
      from.state() == AgentState::stopped && from.gate() != Gate::terminate && is_settled && deletes;
  if (!can_process(from.state()) && !deletes_stopped) return std::nullopt;
  const Gate gate = std::max(from.gate(), deletes ? Gate::terminate : Gate::stop_tree);
  return from.with(imposed).with(gate).with(Grade::none).next_epoch();
}

// The end of a stop: nothing of the agent and its subtree is in flight. Not for a terminating agent, because
// a delete waits for an earlier stop (X13).
constexpr PackedState after_settle(PackedState from) noexcept {
  assert(from.state() != AgentState::terminating);
  const Gate gate = from.is_open() ? Gate::stop_tree : from.gate();
  return from.with(AgentState::stopped).with(gate).with(Grade::none).next_epoch();
}

// The end of a delete, just before the slot is freed. Not for a stopping agent, which settles first (X13).
constexpr PackedState after_remove(PackedState from) noexcept {
  assert(from.state() != AgentState::stopping);
  return from.with(AgentState::terminating).with(Gate::terminate);
}

}  // namespace agentcore::detail::core
