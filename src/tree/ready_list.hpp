// ReadyList: the agents that have something to do.
#pragma once

#include "core/node.hpp"

#include <atomic>

namespace agentcore::tree {

// Anyone adds; the loop takes them out in rounds, first come first served, one step each (Q5). An agent is in
// it once at most, which its `scheduled` says; a slot that was recycled meanwhile only costs a look.
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
  bool empty() const noexcept {
    return !round_ && !again_first_ && newest_.load(std::memory_order_acquire) == nullptr;
  }

  // Begins a round with all that came since the last, unless one is unfinished. @loop_thread
  void begin_round() noexcept {
    if (round_) return;
    // Those that have more to do come first, then the new ones, oldest first.
    core::Node* newest = newest_.exchange(nullptr, std::memory_order_acquire);
    while (newest) {
      core::Node* next = newest->next_ready.load(std::memory_order_relaxed);
      newest->next_ready.store(round_, std::memory_order_relaxed);
      round_ = newest;
      newest = next;
    }
    if (!again_first_) return;
    again_last_->next_ready.store(round_, std::memory_order_relaxed);
    round_ = again_first_;
    again_first_ = again_last_ = nullptr;
  }
  // The next of the round, or null at its end. It is still scheduled: afterwards the caller says again() or
  // done(). What is added from now on belongs to the next round. @loop_thread
  core::Node* next() noexcept {
    core::Node* node = round_;
    if (!node) return nullptr;
    round_ = node->next_ready.load(std::memory_order_relaxed);
    if (round_) {
      __builtin_prefetch(round_, 1);
      __builtin_prefetch(reinterpret_cast<const char*>(round_) + 64, 1);
    }
    return node;
  }
  // It has more to do, in the next round. @loop_thread
  void again(core::Node& node) noexcept {
    node.next_ready.store(nullptr, std::memory_order_relaxed);
    if (again_last_)
      again_last_->next_ready.store(&node, std::memory_order_relaxed);
    else
      again_first_ = &node;
    again_last_ = &node;
  }
  // It leaves the list. A sender that found `scheduled` set had pushed its message before; a look at the
  // mailbox after this sees it. @loop_thread
  void done(core::Node& node) noexcept { node.scheduled.exchange(false, std::memory_order_acq_rel); }

 private:
  std::atomic<core::Node*> newest_{nullptr};
  core::Node* round_ = nullptr;
  core::Node* again_first_ = nullptr;
  core::Node* again_last_ = nullptr;
};

}  // namespace agentcore::tree
