// ReadyList: the agents that have something to do.
#pragma once

#include <atomic>

#include "core/node.hpp"

namespace agentcore::tree {

// Anyone adds; the loop takes them out in rounds, first come first served, one step each (Q5). An agent is in it
// once at most; a slot that was recycled meanwhile only costs a look.
class ReadyList {
 public:
  // @threadsafe. False when it was in already.
  bool add(core::Node& node) noexcept {
    if (node.scheduled.exchange(true, std::memory_order_acq_rel)) return false;
    core::Node* top = newest_.load(std::memory_order_relaxed);
    do node.next_ready.store(top, std::memory_order_relaxed);
    while (!newest_.compare_exchange_weak(top, &node, std::memory_order_release, std::memory_order_relaxed));
    return true;
  }
  // @threadsafe for the newest part; the round belongs to the loop.
  bool empty() const noexcept { return !round_ && newest_.load(std::memory_order_acquire) == nullptr; }

  // Begins a round with all that came since the last, unless one is unfinished. @loop_thread
  void begin_round() noexcept {
    if (round_) return;
    core::Node* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    while (newest) {
      core::Node* next = newest->next_ready.load(std::memory_order_relaxed);
      newest->next_ready.store(round_, std::memory_order_relaxed);
      round_ = newest;
      newest = next;
    }
  }
  // The next of the round, or null at its end. What is added from now on belongs to the next one. @loop_thread
  core::Node* next() noexcept {
    core::Node* node = round_;
    if (!node) return nullptr;
    round_ = node->next_ready.load(std::memory_order_relaxed);
    if (round_) __builtin_prefetch(round_, 1);
    // A sender that found `scheduled` set has pushed its message before; it is seen after this exchange.
    node->scheduled.exchange(false, std::memory_order_acq_rel);
    return node;
  }

 private:
  std::atomic<core::Node*> newest_{nullptr};
  core::Node* round_ = nullptr;
};

}  // namespace agentcore::tree
