// What the loop waits with: the poller, the wake-up, and the descriptor for a foreign loop. Each of them
// needs a descriptor of the system, which may have none left.
#include "loop/engine.hpp"
#include "loop/time.hpp"

#include <cassert>
#include <cerrno>
#include <string>
#include <utility>

namespace agentcore::loop {

namespace {

// True for a lack of resources: the same call may succeed later.
bool is_lack(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOSPC;
}

}  // namespace

bool Engine::ensure_open() {
  if (all_open_) return true;
  int error = 0;
  const auto opened = [&error](bool success) {
    if (!success && error == 0) error = errno;
    return success;
  };
  all_open_ = opened(open_poller());
  all_open_ = opened(open_wake()) && all_open_;
  if (all_open_ && host_asked_) all_open_ = opened(open_host_descriptor());
  report_lack(error);
  return all_open_;
}

// Returns false if poll(2) is used because epoll could not be opened; errno then has the reason.
bool Engine::open_poller() {
  if (poller_ && !stand_in_) return true;
  int error = 0;
  if (backend_ != LoopBackend::poll) {
    auto made = make_epoll_poller();
    if (made && (!poller_ || made->take_over(*poller_))) {
      poller_ = std::move(made);
      stand_in_ = wake_watched_ = false;
      return true;
    }
    error = errno;
    stand_in_ = made || is_lack(error);  // a system without epoll: poll(2) is its poller for good
  }
  if (!poller_) poller_ = make_poll_poller();
  errno = error;
  return !stand_in_;
}

bool Engine::open_wake() {
  if (wake_watched_) return true;
  const int descriptor = waker_->open(!poller_->has_descriptor());
  wake_watched_ = descriptor >= 0 && poller_->watch_wake(descriptor);
  return wake_watched_;
}

bool Engine::open_host_descriptor() {
  if (host_descriptor_ < 0)
    host_descriptor_ = poller_->has_descriptor() ? poller_->open_descriptor() : waker_->open(true);
  if (silent_) poller_->mute(true);
  return host_descriptor_ >= 0;
}

// `error`: the errno of what could not be opened; 0: all is open. Logs when that changes.
void Engine::report_lack(int error) {
  const bool lacking = error != 0;
  if (lacking) retry_at_ = later(now(), retry_after);
  if (std::exchange(lacking_, lacking) == lacking) return;
  if (lacking)
    log(LogLevel::warning, "the system has no descriptor left for the loop: it looks for work every 10 ms",
        {{"error", std::generic_category().message(error)}});
  else
    log(LogLevel::info, "the loop has its descriptors");
}

int Engine::poll_descriptor() {
  assert(on_loop_thread());
  if (closed_) return -1;
  const auto self = shared_from_this();  // the log sink may destroy the Runtime
  if (!std::exchange(host_asked_, true)) all_open_ = false;
  if (host_descriptor_ < 0) ensure_open();
  return closed_ ? -1 : host_descriptor_;
}

std::error_code Engine::watch(int descriptor, IoEvents events, IoHandler& handler) {
  assert(on_loop_thread());
  if (!closed_) ensure_open();
  if (closed_) return std::make_error_code(std::errc::operation_canceled);
  if (poller_->add(descriptor, events, handler)) return {};
  return {errno, std::generic_category()};
}

std::error_code Engine::rewatch(int descriptor, IoEvents events) {
  assert(on_loop_thread());
  if (!poller_ || poller_->modify(descriptor, events)) return {};
  return {errno, std::generic_category()};
}

void Engine::unwatch(int descriptor) {
  if (poller_) poller_->remove(descriptor);
}

}  // namespace agentcore::loop
