// CallSlots: how many model calls may run at once, and how many per minute.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore {

struct CallLimits {
  std::uint32_t total = 3;         // calls at once, over all endpoints (Y5); 0: no limit, here and below
  std::uint32_t per_endpoint = 0;  // calls at once to one endpoint
  std::uint32_t per_agent = 1;     // calls at once of one agent; anonymous calls are not counted
  // A minute's worth may go at once, and then as much as comes back evenly. Tokens are estimated before a
  // call and corrected by its usage.
  std::uint64_t requests_per_minute = 0;  // to one endpoint
  std::uint64_t tokens_per_minute = 0;    // to one endpoint, prompt and completion together
  std::size_t max_waiting = 10'000;       // calls that may wait; one more fails with `queue_full`
  bool learn = true;                      // heed what endpoints say about their limits (headers, Retry-After)
};

// What routers share to keep to limits together. A call that finds no slot waits; the waiting are served in
// the order in which they came, but nobody waits behind a call whose own endpoint or agent is at its limit. A
// call that is stopped while it waits is gone at once, and a slot is free as soon as its attempt has ended: a
// back-off holds none. A call that comes back from one has kept its place, and is not refused for a full
// queue.
//
// A router that is a route of another router needs slots of its own: sharing them, the outer calls hold the
// slots that the inner ones wait for.
//
// All functions are @loop_thread. May outlive its Runtime.
class CallSlots {
 public:
  explicit CallSlots(Runtime& runtime, CallLimits limits = {});
  ~CallSlots();
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;

  // Limits of one endpoint that are other than all the others'. `total`, `per_agent`, `max_waiting` and
  // `learn` of `limits` are not looked at.
  void set_endpoint(std::string endpoint, const CallLimits& limits);

  std::size_t running() const noexcept;
  std::size_t running(std::string_view endpoint) const noexcept;
  std::size_t waiting() const noexcept;

 private:
  friend class LlmRouter;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore
