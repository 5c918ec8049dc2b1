// AttemptStop: the stop source of the running attempt, which other threads trigger.
#pragma once

#include <agentcore/llm_client.hpp>

#include <mutex>

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
  std::mutex mutex_;
  StopSource source_{std::nostopstate};
};

}  // namespace agentcore::detail::llm
