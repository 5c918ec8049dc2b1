// Waker: wakes a loop from any thread, once per batch.
#pragma once

#include "core/atomic.hpp"
#include "core/internal_api.hpp"
#include "core/mutex.hpp"
#include "platform/wake_signal.hpp"

#include <agentcore/subscription.hpp>

#include <functional>
#include <memory>

namespace agentcore::detail::loop {

// One flag is set while a poll is due or running. The first notify() that sets it signals: the
// wake-up descriptor, if one was opened, and the host's on_wake function. All others cost one atomic
// exchange. The flag stays set during a poll, so a foreign send meanwhile costs no system call.
//
// Why no wake-up is lost: notify() comes after the work was published and exchanges the flag; the loop
// exchanges it back at the end of a poll and looks for work only then. Both exchanges are on one atomic, so
// either notify() comes second and signals, or the loop comes second and has everything that was published
// before that notify(). Whatever is announced with notify() must therefore show in what the loop looks at:
// Source::has_work() or a post.
//
// Each caller of notify() holds it by shared_ptr; it may outlive its engine, and does nothing then.
class AGENTCORE_INTERNAL_API Waker : public std::enable_shared_from_this<Waker> {
 public:
  Waker() = default;
  ~Waker();
  Waker(const Waker&) = delete;
  Waker& operator=(const Waker&) = delete;

  // Reports that there is work. @threadsafe
  void notify() noexcept AGENTCORE_RUNS_HOST_CODE;

  // `wake` runs on a notifying thread and never in parallel with itself; no mutex of ours is held meanwhile,
  // and no other thread waits for it. Once the subscription is reset, no call of it is running or will come:
  // the reset waits for one that runs on another thread, so never reset while holding a lock that `wake`
  // takes.
  // @loop_thread
  Subscription on_wake(std::function<void()> wake);

  // The wake-up's descriptor, opened by the first call; -1: the system has none left, ask again later. With
  // `level` a poll reads it empty; without, the one that waits must watch it edge-triggered. @loop_thread
  int open(bool level);

  // Around a poll: sets the flag; clears it. After end_poll() the loop must look for work again. @loop_thread
  void begin_poll() noexcept;
  void end_poll() noexcept;

  // True once after `wake` threw. @loop_thread
  bool take_throw() noexcept { return threw_.exchange(false); }

  // Ends everything: no descriptor, no function, notify() does nothing. @loop_thread
  void close() noexcept;
  // The same in a forked child, where nothing is closed: see core::HomeProcess.
  void abandon() noexcept {
    closed_ = true;
    notified_.store(true, std::memory_order_seq_cst);  // notify() does nothing
  }

 private:
  class Subscriber;

  void signal() noexcept AGENTCORE_RUNS_HOST_CODE;
  void drain() noexcept;
  void set_signal() noexcept AGENTCORE_REQUIRES(mutex_);
  void end_subscription(const std::shared_ptr<Subscriber>& subscriber) noexcept;

  core::Atomic<bool> notified_{false};
  core::Atomic<bool> threw_{false};
  bool polling_ = false;  // used by the loop thread only
  bool closed_ = false;   // used by the loop thread only

  core::Mutex mutex_;
  platform::WakeSignal signal_ AGENTCORE_GUARDED_BY(mutex_);
  bool level_ = false;  // written by the loop thread under mutex_, which therefore reads it without
  bool written_ AGENTCORE_GUARDED_BY(mutex_) = false;  // with level_: there is something to read
  std::shared_ptr<Subscriber> subscriber_ AGENTCORE_GUARDED_BY(mutex_);
};

}  // namespace agentcore::detail::loop
