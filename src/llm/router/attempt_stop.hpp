// AttemptStop: the stop source of the running attempt, which other threads trigger.
#pragma once

#include "core/mutex.hpp"

#include <agentcore/llm_client.hpp>

namespace agentcore::detail::llm {

// Each attempt has a fresh stop source. The mutex is held to exchange or copy one, never while one is
// triggered or destroyed.
class AttemptStop {
 public:
  // Makes the source of the next attempt; returns its token. @loop_thread
  StopToken renew();
  // No attempt runs any more. @loop_thread
  void drop() noexcept;
  // Stops the running attempt, if there is one. @threadsafe
  void request_stop() noexcept;

 private:
  core::Mutex mutex_;
  StopSource source_ AGENTCORE_GUARDED_BY(mutex_){std::nostopstate};
};

}  // namespace agentcore::detail::llm
