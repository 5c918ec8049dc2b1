#include "loop/loop_descriptors.hpp"

#include "loop/time.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <new>
#include <string>
#include <utility>

namespace agentcore::detail::loop {

namespace {

// True for a lack of resources: the same call may succeed later.
bool is_lack(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

}  // namespace

void LoopDescriptors::ensure_open() {
  if (all_open_) return;
  int error = 0;
  const auto opened = [&error](bool success) {
    if (!success && error == 0) error = errno;
    return success;
  };
  all_open_ = opened(try_open_poller());
  all_open_ = opened(try_open_wake()) && all_open_;
  if (all_open_ && host_asked_) all_open_ = opened(try_open_host_descriptor());
  report_lack(error);
  report_no_timer();
}

// Opens the poller if necessary. Returns false if poll(2) is used because epoll could not be opened; errno
// then has the reason.
bool LoopDescriptors::try_open_poller() {
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
bool LoopDescriptors::try_open_wake() {
  if (wake_watched_) return true;
  const int descriptor = waker_.open(!poller_->has_descriptor());
  wake_watched_ = descriptor >= 0 && poller_->watch_wake(descriptor);
  return wake_watched_;
}

// Opens the host's descriptor if necessary. The timer comes first: a host that has the descriptor may rely
// on it alone. False when the system refused: errno has the reason.
bool LoopDescriptors::try_open_host_descriptor() {
  if (!try_open_timer()) return false;
  if (host_descriptor_ < 0)
    host_descriptor_ = poller_->has_descriptor() ? poller_->open_descriptor() : waker_.open(true);
  if (muted_) poller_->mute(true);
  return host_descriptor_ >= 0;
}

// Opens the timer if necessary and possible. False if the system has no descriptor left for it. Without a
// timer for another reason the host has to wait for next_deadline().
bool LoopDescriptors::try_open_timer() {
  if (!state_.has_system_clock || !poller_->has_descriptor() || timer_open_) return true;
  timer_open_ = poller_->open_timer();
  if (timer_open_ || is_lack(errno)) return timer_open_;
  timer_error_ = errno;
  return true;
}

void LoopDescriptors::report_no_timer() {
  if (const int error = std::exchange(timer_error_, 0))
    log_.write(LogLevel::warning, "the system has no timer for poll_descriptor(): wait for next_deadline()",
               {{"error", std::generic_category().message(error)}});
}

// `error`: the errno of what could not be opened; 0: all is open. Logs when that changes.
void LoopDescriptors::report_lack(int error) {
  const bool lacking = error != 0;
  if (lacking) retry_at_ = later(state_.now(), retry_after);
  if (std::exchange(lacking_, lacking) == lacking) return;
  if (lacking)
    log_.write(LogLevel::warning,
               "the system has no descriptor left for the loop: it looks for work every 10 ms",
               {{"error", std::generic_category().message(error)}});
  else
    log_.write(LogLevel::info, "the loop has its descriptors", {});
}

std::error_code LoopDescriptors::watch(int descriptor, IoEvents events, IoHandler& handler) {
  assert(state_.on_loop_thread());
  if (!state_.closed) ensure_open();
  if (state_.closed) return std::make_error_code(std::errc::operation_canceled);
  if (poller_->add(descriptor, events, handler)) return {};
  return {errno, std::generic_category()};
}

std::error_code LoopDescriptors::rewatch(int descriptor, IoEvents events) {
  assert(state_.on_loop_thread());
  if (!poller_ || poller_->modify(descriptor, events)) return {};
  return {errno, std::generic_category()};
}

void LoopDescriptors::unwatch(int descriptor) {
  if (poller_) poller_->remove(descriptor);
}

Duration LoopDescriptors::limited_wait(Duration at_most) const noexcept {
  return wake_watched_ ? at_most : std::min(at_most, retry_after);
}

void LoopDescriptors::request_host_descriptor() {
  if (!std::exchange(host_asked_, true)) all_open_ = false;
  if (host_descriptor_ < 0) ensure_open();
}

std::optional<TimePoint> LoopDescriptors::host_retry_at() const noexcept {
  if (!host_asked_ || host_descriptor_ >= 0) return std::nullopt;
  return retry_at_;
}

void LoopDescriptors::arm_timers(std::optional<TimePoint> next, std::optional<TimePoint> boot) noexcept {
  if (state_.closed || !poller_) return;
  if (timer_open_ && next) poller_->arm_timer(*next, state_.now());
  if (boot && open_boot_timer()) boot_timer_.arm(*boot);
}

// Opens and watches the timer if necessary and possible. Without it a lease that ends while the machine
// sleeps is noticed by the next thing that the loop does.
bool LoopDescriptors::open_boot_timer() noexcept {
  if (boot_timer_watched_) return true;
  if (!state_.has_system_clock || !boot_timer_.open()) return false;
  try {
    boot_timer_watched_ = poller_->add(boot_timer_.descriptor(), IoEvents::readable, on_boot_timer_);
  } catch (const std::bad_alloc&) {
    // The next call tries again.
  }
  return boot_timer_watched_;
}

void LoopDescriptors::mute(bool muted) noexcept {
  muted_ = muted;
  if (poller_ && !state_.closed) poller_->mute(muted);
}

}  // namespace agentcore::detail::loop
