// Slot: the permission to make one attempt. Waiter: a call that may have to wait for a slot.
#pragma once

#include "llm/active_calls.hpp"
#include "llm/router/endpoint_table.hpp"
#include "llm/router/rate_limiter.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::llm {

class Slots;

// An agent with running or waiting calls.
struct Caller {
  std::unique_ptr<const std::string> agent_id;  // the key in Slots::callers_ views it
  std::uint32_t running = 0;
  std::vector<std::unique_ptr<Lane>> lanes;  // one for each endpoint that it waits for
};
using Callers = std::map<CallerKey, Caller>;  // a key views the agent_id of its caller

// Released by its destructor. @loop_thread
class Slot {
 public:
  Slot() = default;
  Slot(Slot&& other) noexcept = default;
  Slot& operator=(Slot&& other) noexcept;
  ~Slot() { release(); }

  // Takes over the limits that the endpoint reported.
  void learn(const RateLimit& limit);
  // The attempt ended with `outcome`: corrects the limits by its usage, and releases the slot.
  void end(const ChatOutcome& outcome);
  // The attempt was not made.
  void undo();

 private:
  friend class Slots;

  void release();

  std::shared_ptr<Slots> slots_;  // null: not taken
  std::shared_ptr<Endpoint> endpoint_;
  std::optional<Callers::iterator> caller_;  // none: anonymous
  std::uint64_t tokens_ = 0;                 // as estimated
  RateLimiter::Mark mark_;
};

// A request for a slot.
struct SlotRequest {
  std::shared_ptr<Endpoint> endpoint;
  CallerKey caller;          // its id must outlive the waiter; empty: anonymous
  std::uint64_t tokens = 0;  // estimate of what the call will use
  Duration max_wait{0};      // the longest pause of the endpoint that the call waits for
};

// @loop_thread
class Waiter {
 public:
  virtual void on_slot(Slot slot) = 0;
  // The endpoint asks for a pause that is longer than `max_wait`. The waiter has left the queue. Never called
  // from within acquire().
  virtual void on_pause_too_long() = 0;

 protected:
  ~Waiter() = default;

 private:
  friend class Slots;

  std::shared_ptr<Endpoint> endpoint_;
  CallerKey caller_;
  std::uint64_t tokens_ = 0;
  Duration max_wait_{0};
  std::uint64_t place_ = 0;  // kept from its first wait on: a call that waits again keeps its position
  Lane* lane_ = nullptr;     // the lane in which it waits
};

}  // namespace agentcore::detail::llm
