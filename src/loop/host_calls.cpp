#include "loop/host_calls.hpp"

namespace agentcore::detail::loop {

void HostCalls::report_throw(std::string_view what, std::string_view why) noexcept {
  log_.write(LogLevel::error, "a callback threw", {{"callback", what}, {"exception", why}});
}

bool HostCalls::refuses_to_drive() noexcept {
  if (state_.closed) return true;
  if (state_.in_poll && !state_.on_loop_thread())
    return true;  // another thread is in a poll: not its silence
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
