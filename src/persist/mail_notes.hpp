// MailNotes: which mailboxes got messages since the store was last written. Any thread adds, the loop takes.
#pragma once

#include "core/atomic.hpp"
#include "core/mutex.hpp"
#include "core/node.hpp"

#include <new>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

class MailNotes {
 public:
  // Only then notes are kept: the tree has a store. @loop_thread
  void enable(bool on) noexcept { enabled_.store(on, std::memory_order_release); }
  // @threadsafe
  bool is_enabled() const noexcept { return enabled_.load(std::memory_order_acquire); }
  // Returns true if it is the first since the last take(). Without memory the next take() says so.
  // @threadsafe
  bool add(core::NodeId agent) noexcept {
    if (!is_enabled()) return false;
    const core::Lock lock(mutex_);
    const bool first = agents_.empty() && !lost_;
    if (!agents_.empty() && agents_.back() == agent) return false;
    try {
      agents_.push_back(agent);
    } catch (const std::bad_alloc&) {
      lost_ = true;
    }
    return first;
  }

  // Notes another change of the agent, which is to be written at once at every durability. @threadsafe
  void add_at_once(core::NodeId agent) noexcept {
    if (!is_enabled()) return;
    static_cast<void>(add(agent));
    is_due_.store(true, std::memory_order_release);
  }

  struct Taken {
    std::vector<core::NodeId> agents;
    bool lost = false;  // there may be others
  };
  Taken take() noexcept {
    const core::Lock lock(mutex_);
    is_due_.store(false, std::memory_order_relaxed);
    return {std::exchange(agents_, {}), std::exchange(lost_, false)};
  }
  bool is_due() const noexcept { return is_due_.load(std::memory_order_acquire); }
  bool empty() const noexcept {
    const core::Lock lock(mutex_);
    return agents_.empty() && !lost_;
  }

 private:
  core::Atomic<bool> enabled_{false};
  core::Atomic<bool> is_due_{false};
  mutable core::Mutex mutex_;
  std::vector<core::NodeId> agents_ AGENTCORE_GUARDED_BY(mutex_);
  bool lost_ AGENTCORE_GUARDED_BY(mutex_) = false;
};

}  // namespace agentcore::detail::persist
