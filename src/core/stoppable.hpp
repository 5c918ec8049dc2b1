// Stoppable: a running operation that any thread can stop.
#pragma once

#include <stop_token>

namespace agentcore::detail::core {

class Stoppable {
 public:
  // Stops the operation: for its caller it has ended at once, and the loop releases the rest. Never blocks.
  // True the first time. @threadsafe
  virtual bool stop() noexcept = 0;
  virtual bool is_stopped() const noexcept = 0;  // @threadsafe

 protected:
  ~Stoppable() = default;
};

// Stops an operation when a stop token is triggered, on the thread that triggers it. The operation must
// outlive the callback. The callback's destructor may wait for stop() on another thread: never destroy it
// under a lock.
struct StopOnRequest {
  Stoppable* operation;
  void operator()() const noexcept { operation->stop(); }
};
using StopCallback = std::stop_callback<StopOnRequest>;

}  // namespace agentcore::detail::core
