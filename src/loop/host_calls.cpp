#include "loop/host_calls.hpp"

#include <algorithm>
#include <new>

namespace agentcore::detail::loop {

void HostCalls::report_throw(std::string_view what, std::string_view why) noexcept {
  log_.write(LogLevel::error, "a callback threw", {{"callback", what}, {"exception", why}});
}

void HostCalls::report_wrong_thread() noexcept {
  const char* const function = state_.called_on_wrong_thread.exchange(nullptr);
  auto& logged = logged_wrong_threads_;
  if (!function || std::find(logged.begin(), logged.end(), function) != logged.end()) return;
  try {
    logged.push_back(function);
  } catch (const std::bad_alloc&) {  // then it may be logged again
  }
  log_.write(LogLevel::error, "a function of the loop thread was called on another thread",
             {{"function", function}});
}

bool HostCalls::refuses_to_drive() noexcept {
  if (state_.closed) return true;
  if (state_.in_poll.load(std::memory_order_relaxed) && !state_.on_loop_thread()) {
    state_.note_wrong_thread("Runtime::poll");
    return true;  // not the silence of that thread
  }
  if (!state_.in_poll && !is_calling()) return false;
  if (descriptors_.is_muted()) return true;
  // During a poll the waker is silent anyway. Outside of a poll, in an observer that create() or walk()
  // calls, it is made silent in the same way.
  if (!state_.in_poll) waker_.begin_poll();
  descriptors_.mute(true);
  return true;
}

void HostCalls::end_silence() noexcept {
  if (!descriptors_.is_muted()) return;
  descriptors_.mute(false);
  if (state_.closed || state_.in_poll) return;
  waker_.end_poll();
  if (work_.has_ready()) waker_.notify();
}

}  // namespace agentcore::detail::loop
