#include "loop/loop_wait.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace agentcore::detail::loop {

namespace {

// True for a lack of resources: the same call may succeed later.
bool is_lack(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

}  // namespace

LoopWait::Changes LoopWait::ensure_open() {
  if (all_open_) return {};
  int error = 0;
  const auto opened = [&error](bool success) {
    if (!success && error == 0) error = errno;
    return success;
  };
  all_open_ = opened(try_open_poller());
  all_open_ = opened(try_open_wake()) && all_open_;
  if (all_open_ && host_asked_) all_open_ = opened(try_open_host_descriptor());
  const bool was_lacking = std::exchange(lacking_, error != 0);
  if (lacking_) retry_at_ = later(clock_.now(), retry_after);
  return {was_lacking ? 0 : error, was_lacking && !lacking_, std::exchange(timer_error_, 0)};
}

// Opens the poller if necessary. Returns false if poll(2) is used because epoll could not be opened; errno
// then has the reason.
bool LoopWait::try_open_poller() {
  if (poller_ && !stand_in_) return true;
  int error = 0;
  if (backend_ != LoopBackend::poll) {
    auto made = platform::make_epoll_poller();
    if (made && (!poller_ || made->take_over(*poller_))) {
      poller_ = std::move(made);
      stand_in_ = wake_watched_ = false;
      return true;
    }
    error = errno;
    stand_in_ = made || is_lack(error);  // a system without epoll: poll(2) is its poller for good
  }
  if (!poller_) poller_ = platform::make_poll_poller();
  errno = error;
  return !stand_in_;
}

// Opens and watches the wake-up if necessary. False when the system refused: errno has the reason.
bool LoopWait::try_open_wake() {
  if (wake_watched_) return true;
  const int descriptor = waker_.open(!poller_->has_descriptor());
  wake_watched_ = descriptor >= 0 && poller_->watch_wake(descriptor);
  return wake_watched_;
}

// Opens the host's descriptor if necessary. The timer comes first: a host that has the descriptor may rely
// on it alone. False when the system refused: errno has the reason.
bool LoopWait::try_open_host_descriptor() {
  if (!try_open_timer()) return false;
  if (host_descriptor_ < 0)
    host_descriptor_ = poller_->has_descriptor() ? poller_->open_descriptor() : waker_.open(true);
  if (muted_) poller_->mute(true);
  return host_descriptor_ >= 0;
}

// Opens the timer if necessary and possible. False if the system has no descriptor left for it. Without a
// timer for another reason the host has to wait for next_deadline().
bool LoopWait::try_open_timer() {
  if (!has_system_clock_ || !poller_->has_descriptor() || timer_open_) return true;
  timer_open_ = poller_->open_timer();
  if (timer_open_ || is_lack(errno)) return timer_open_;
  timer_error_ = errno;
  return true;
}

std::error_code LoopWait::watch(int descriptor, IoEvents events, IoHandler& handler) {
  if (poller_->add(descriptor, events, handler)) return {};
  return {errno, std::generic_category()};
}

std::error_code LoopWait::rewatch(int descriptor, IoEvents events) {
  if (!poller_ || poller_->modify(descriptor, events)) return {};
  return {errno, std::generic_category()};
}

void LoopWait::unwatch(int descriptor) {
  if (poller_) poller_->remove(descriptor);
}

Duration LoopWait::limited_wait(Duration at_most) const noexcept {
  return wake_watched_ ? at_most : std::min(at_most, retry_after);
}

std::optional<TimePoint> LoopWait::host_retry_at() const noexcept {
  if (!host_asked_ || host_descriptor_ >= 0) return std::nullopt;
  return retry_at_;
}

void LoopWait::arm_timers(std::optional<TimePoint> next, std::optional<TimePoint> boot) noexcept {
  if (!poller_) return;
  if (timer_open_ && next) poller_->arm_timer(*next, clock_.now());
  if (boot && open_boot_timer()) boot_timer_.arm(*boot);
}

// Opens and watches the timer if necessary and possible. Without it a lease that ends while the machine
// sleeps is noticed by the next thing that the loop does.
bool LoopWait::open_boot_timer() noexcept {
  if (boot_timer_watched_) return true;
  if (!has_system_clock_ || !boot_timer_.open()) return false;
  try {
    boot_timer_watched_ = poller_->add(boot_timer_.descriptor(), IoEvents::readable, on_boot_timer_);
  } catch (const std::bad_alloc&) {
    // The next call tries again.
  }
  return boot_timer_watched_;
}

void LoopWait::mute(bool muted) noexcept {
  muted_ = muted;
  if (poller_) poller_->mute(muted);
}

}  // namespace agentcore::detail::loop
