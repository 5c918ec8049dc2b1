// Flights: the model calls that are open, and how to stop them from any thread.
#pragma once

#include "core/agent_table.hpp"

#include <agentcore/llm_client.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace agentcore::turn {

// One model call, from before it is started until its outcome came or it was given up.
struct Flight {
  core::Node* node = nullptr;  // null: the slot is free
  core::NodeId agent = 0;
  std::uint64_t serial = 0;  // grows with every use of the slot
  std::uint32_t epoch = 0;   // of the agent, when the call began
  std::uint64_t turn = 0;
  std::size_t late_deltas = 0;
  StopSource stop{std::nostopstate};  // made only for calls, not for agents
};

// The loop thread is the only writer. The mutex is for foreign stoppers, who copy a few stop sources out; it
// is never held while one is triggered or destroyed.
class Flights {
 public:
  // Registers a call of `node`; returns its slot. @loop_thread
  std::uint32_t open(core::Node& node, std::uint32_t epoch, std::uint64_t turn);
  // Unregisters it. @loop_thread
  void close(std::uint32_t slot);

  // The call in that slot, or null if it ended. @loop_thread
  Flight* find(std::uint32_t slot, std::uint64_t serial) noexcept;
  Flight& operator[](std::uint32_t slot) noexcept { return slots_[slot]; }
  const Flight& operator[](std::uint32_t slot) const noexcept { return slots_[slot]; }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t open_count() const noexcept { return open_.load(std::memory_order_relaxed); }

  // Triggers the stop token of a call. @loop_thread
  void cut(std::uint32_t slot);

  // What a stopping thread does for the wire itself, after it closed a gate: triggers the calls of `root`,
  // and of what lies below it, whose gates are closed; a bounded number, the loop does the rest. @threadsafe
  void cut_closed_below(const core::Node& root, bool with_subtree);
  // The same for an abort: the call that the agent had in that epoch. @threadsafe
  void cut_epoch(const core::Node& node, core::NodeId agent, std::uint32_t epoch);

 private:
  std::mutex mutex_;
  std::vector<Flight> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_serial_ = 1;
  std::atomic<std::size_t> open_{0};
};

}  // namespace agentcore::turn
