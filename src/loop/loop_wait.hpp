// LoopWait: what the loop waits with: the poller, the wake-up, and the descriptor for a foreign loop.
#pragma once

#include "core/internal_api.hpp"
#include "loop/waker.hpp"
#include "platform/boot_timer.hpp"
#include "platform/poller.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/runtime.hpp>

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace agentcore::detail::loop {

// What the rest of the library uses of the poller: events of descriptors, and who gets them.
using platform::has;
using platform::IoEvents;
using platform::IoHandler;

// Each of them needs a descriptor of the system, which may have none left. Then the loop works without: it
// polls every `retry_after`, and tries again to open what is missing. @loop_thread
class AGENTCORE_INTERNAL_API LoopWait {
 public:
  LoopWait(const Clock& clock, Waker& waker, LoopBackend backend)
      : clock_(clock),
        has_system_clock_(dynamic_cast<const SystemClock*>(&clock) != nullptr),
        waker_(waker),
        backend_(backend) {}

  // For tests: this poller is used, which never waits, so that it needs no wake-up. Called before anything is
  // opened.
  void install(std::unique_ptr<platform::Poller> poller) noexcept {
    poller_ = std::move(poller);
    wake_watched_ = true;
  }
  // What the log is to say about a call of ensure_open(). The numbers are those of errno; 0: nothing.
  struct Changes {
    int lack_began = 0;  // the system has too few descriptors from now on
    bool lack_ended = false;
    int no_timer = 0;  // the system has no timers for the host's descriptor
  };
  // Opens what is not open yet.
  Changes ensure_open();
  // True when the system had too few descriptors, and it is time to call ensure_open() again.
  bool is_retry_due() const noexcept { return lacking_ && clock_.now() >= retry_at_; }

  // Documented at Engine. watch() comes after ensure_open().
  std::error_code watch(int descriptor, IoEvents events, IoHandler& handler);
  std::error_code rewatch(int descriptor, IoEvents events);
  void unwatch(int descriptor);

  // Null until something has to be waited for, and when the engine is closed. ensure_open() may replace it:
  // do not keep the pointer.
  platform::Poller* poller() const noexcept { return poller_.get(); }
  // The longest time to wait at once. Without a wake-up descriptor other threads cannot end a wait: it is
  // short then.
  Duration limited_wait(Duration at_most) const noexcept;

  // The host asks for its descriptor: from now on ensure_open() opens it, too, with its timer.
  void request_host_descriptor() noexcept {
    if (!std::exchange(host_asked_, true)) all_open_ = false;
  }
  int host_descriptor() const noexcept { return host_descriptor_; }  // -1: not open
  // True if it becomes readable for everything, timers and sockets included.
  bool host_descriptor_reports_all() const noexcept { return host_descriptor_ >= 0 && timer_open_; }
  // While the host has to do without the descriptor that it asked for: when poll() tries to open it.
  std::optional<TimePoint> host_retry_at() const noexcept;

  // Makes the host's descriptor readable at `next`, the time of the first timer. A poll calls this at its
  // end, for all timers that were started in it. No effect, and no system call, unless the host asked for the
  // descriptor. `boot`: the time by Clock::boot_time() of the first timer of that clock. It ends a wait of
  // the loop, too, because neither a wait nor the other timer counts the time while the machine sleeps.
  void arm_timers(std::optional<TimePoint> next, std::optional<TimePoint> boot) noexcept;

  // While muted, the host's descriptor is not readable.
  void mute(bool muted) noexcept;
  bool is_muted() const noexcept { return muted_; }

  // The engine is closed: releases the poller.
  void close() noexcept {
    poller_.reset();
    boot_timer_.close();
  }

 private:
  bool try_open_poller();
  bool try_open_wake();
  bool try_open_host_descriptor();
  bool try_open_timer();
  bool open_boot_timer() noexcept;

  const Clock& clock_;
  bool has_system_clock_;  // its time is that of the system's timers
  Waker& waker_;
  LoopBackend backend_;

  // It was found readable: the poll in which that happens runs the timer.
  struct ClearBootTimer final : IoHandler {
    explicit ClearBootTimer(platform::BootTimer& cleared) noexcept : timer(cleared) {}
    void on_io(int, IoEvents) override { timer.clear(); }
    platform::BootTimer& timer;
  };

  platform::BootTimer boot_timer_;
  ClearBootTimer on_boot_timer_{boot_timer_};
  bool boot_timer_watched_ = false;
  std::unique_ptr<platform::Poller> poller_;
  bool stand_in_ = false;  // poller_ is poll(2), because epoll could not be opened
  bool wake_watched_ = false;
  bool host_asked_ = false;  // request_host_descriptor() was called
  int host_descriptor_ = -1;
  bool timer_open_ = false;  // host_descriptor_ becomes readable for timers, too
  int timer_error_ = 0;      // errno: the system has no timers for it, which is not logged yet
  bool all_open_ = false;    // the poller, the wake-up and, if asked for, host_descriptor_ are open
  bool lacking_ = false;     // they are not, because the system refused
  TimePoint retry_at_{};     // while lacking_: when poll() tries again
  bool muted_ = false;
};

}  // namespace agentcore::detail::loop
