// Flights: what runs on behalf of an agent, and how to stop it from any thread.
#pragma once

#include "core/agent_table.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/verbs.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace agentcore::turn {

// What a tool call or a background task is called, and when its time is over. Null for a model call.
struct FlightInfo {
  std::string id;         // of the call, or the task
  std::string window_id;  // empty: an ordinary tool
  std::string tool;       // its name
  Timer timer = {};
  bool in_history = false;  // of a background task: the history says that it was started
};

// One model call, tool call or background task, from before it is started until its outcome came or it was
// given up. This is the registry of all that runs (I1): whatever way a flight ends, it is closed.
struct Flight {
  enum class Kind : std::uint8_t { model_call, tool_call, background };

  core::Node* node = nullptr;  // null: the slot is free
  core::NodeId agent = 0;
  std::uint64_t serial = 0;  // grows with every use of the slot
  std::uint32_t epoch = 0;   // of the agent, when it began
  std::uint32_t next = 0;    // slot + 1 of the same agent's flight that was opened before; 0: none
  std::uint32_t newer = 0;   // slot + 1 of the one that was opened after it; for the loop thread alone
  std::uint64_t turn = 0;
  std::size_t late_deltas = 0;
  Kind kind = Kind::model_call;
  bool over = false;  // nobody waits for it any more; it has not let go yet
  std::unique_ptr<FlightInfo> info;
  StopSource stop{std::nostopstate};  // made only for what runs, not for agents
};

// The loop thread is the only writer. The mutex is for foreign stoppers, who copy a few stop sources out; it
// is never held while one is triggered or destroyed.
class Flights {
 public:
  // Registers something of `node`; returns its slot. @loop_thread
  std::uint32_t open(core::Node& node, Flight::Kind kind, std::uint32_t epoch, std::uint64_t turn,
                     std::unique_ptr<FlightInfo> info = {});
  // Unregisters it. @loop_thread
  void close(std::uint32_t slot) noexcept;

  // What flies in that slot, or null if it ended. @loop_thread
  Flight* find(std::uint32_t slot, std::uint64_t serial) noexcept;
  Flight& operator[](std::uint32_t slot) noexcept { return slots_[slot]; }
  const Flight& operator[](std::uint32_t slot) const noexcept { return slots_[slot]; }
  std::uint32_t slots() const noexcept { return static_cast<std::uint32_t>(slots_.size()); }
  std::size_t open_count() const noexcept { return open_.load(std::memory_order_relaxed); }

  // Calls visit(slot) for each flight of `node`, newest first; `visit` may close that one. @loop_thread
  template <typename Visit>
  void for_each(const core::Node& node, Visit&& visit) const {
    for (std::uint32_t at = node.flight.load(std::memory_order_relaxed); at;) {
      const std::uint32_t slot = at - 1;
      at = slots_[slot].next;
      visit(slot);
    }
  }

  // Triggers a stop token. @loop_thread
  void cut(std::uint32_t slot);

  // What a stopping thread does by itself, after it closed a gate: triggers what flies for `root`, and for
  // what lies below it, whose gates are closed; a bounded number. Returns how many it triggered. @threadsafe
  std::size_t cut_closed_below(const core::Node& root, bool with_subtree, StopCut cut);
  // What stopping threads left of it: all that flies for closed gates, however many. @loop_thread
  void cut_left();
  bool has_left() const noexcept { return left_.load(std::memory_order_acquire); }
  // The same for an abort: the model call that the agent had in that epoch. @threadsafe
  void cut_epoch(const core::Node& node, core::NodeId agent, std::uint32_t epoch);

 private:
  struct Batch;
  bool copy_own(const core::Node& root, Batch& batch);
  bool copy_closed(const core::Node& root, bool with_subtree, std::size_t& next, std::size_t room,
                   Batch& batch);

  std::mutex mutex_;
  std::vector<Flight> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t next_serial_ = 1;
  std::atomic<std::size_t> open_{0};
  std::atomic<bool> left_{false};  // something may fly for a closed gate, untriggered
};

}  // namespace agentcore::turn
