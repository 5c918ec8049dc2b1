// TreeLifetime: keeps the memory of a tree while handles refer to it or a function of the loop uses it.
#pragma once

#include "core/atomic.hpp"

#include <cstdint>

namespace agentcore::detail::core {

// Invariants:
// 1. While a reference is counted, the object exists. Handles count references; so does each LoopEntry.
// 2. While a LoopEntry exists, the data of the agents (specs, histories, turns) stays, even if a callback
//    destroys the tree meanwhile. The last LoopEntry calls on_loop_left() when it is destroyed.
// 3. Whatever changes the tree on the loop thread does so within a LoopEntry: on_loop_left() wakes the loop
//    for the work that has arisen outside of a poll.
class TreeLifetime {
 public:
  TreeLifetime() = default;
  TreeLifetime(const TreeLifetime&) = delete;
  TreeLifetime& operator=(const TreeLifetime&) = delete;

  // @threadsafe
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  // The last release destroys the object. @threadsafe
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }

  // One function of the tree that the loop thread runs. Any code of the host that it calls may destroy the
  // tree. @loop_thread
  class LoopEntry {
   public:
    explicit LoopEntry(TreeLifetime& lifetime) noexcept : lifetime_(lifetime) {
      lifetime_.retain();
      ++lifetime_.entries_;
    }
    ~LoopEntry() {
      if (lifetime_.entries_ == 1) lifetime_.before_loop_left();
      if (--lifetime_.entries_ == 0) lifetime_.on_loop_left();
      lifetime_.release();
    }
    LoopEntry(const LoopEntry&) = delete;
    LoopEntry& operator=(const LoopEntry&) = delete;

   private:
    TreeLifetime& lifetime_;
  };

 protected:
  ~TreeLifetime() = default;

 private:
  // The last LoopEntry is about to end. May run code of the host.
  virtual void before_loop_left() noexcept = 0;
  virtual void on_loop_left() noexcept = 0;
  virtual void destroy() noexcept = 0;

  Atomic<std::uint64_t> references_{1};
  int entries_ = 0;
};

}  // namespace agentcore::detail::core
