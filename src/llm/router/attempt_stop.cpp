#include "llm/router/attempt_stop.hpp"

#include "core/stop_request.hpp"

namespace agentcore::detail::llm {

// In these functions a source is destroyed after the lock was released.

StopToken AttemptStop::renew() {
  StopSource source;
  StopToken token = source.get_token();
  const core::Lock lock(mutex_);
  source_.swap(source);
  return token;
}

void AttemptStop::drop() noexcept {
  StopSource none(std::nostopstate);
  const core::Lock lock(mutex_);
  source_.swap(none);
}

void AttemptStop::request_stop() noexcept {
  StopSource running(std::nostopstate);
  {
    const core::Lock lock(mutex_);
    running = source_;
  }
  core::request_stop(running);
}

}  // namespace agentcore::detail::llm
