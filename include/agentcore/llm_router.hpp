// LlmRouter: an LlmClient that retries, falls back and keeps to limits.
#pragma once

#include <agentcore/call_slots.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

// One way to an answer: a client, and the model to ask it for.
struct Route {
  LlmClient* client = nullptr;  // must outlive the router
  std::string model = {};       // instead of the request's; empty: the request's, else the client's default
  std::string endpoint = {};    // whose slots, limits and circuit breaker; empty: one for each client
};

// Whether and when a failed attempt is made again (X19, X20).
struct RetryPolicy {
  std::uint32_t max_attempts = 3;  // per route, the first one included; >= 1
  // The n-th wait is a random time from 0 to the smaller of max_delay and first_delay * 2^(n-1) (full
  // jitter), but at least as long as the server asked for.
  Duration first_delay = std::chrono::seconds(1);
  Duration max_delay = std::chrono::seconds(30);
  // An endpoint that wants to be left alone for longer than this is not waited for: the next route is tried,
  // or the call fails. Calls that wait for one of its slots by then do the same. So does a call that begins
  // to wait for an endpoint which is to be left alone until after the call's deadline.
  Duration max_retry_after = std::chrono::minutes(1);
  // Of the whole call: waiting for slots, attempts and back-offs together; 0: none. What would begin after
  // it is not begun, and what runs then ends: with `deadline_exceeded`, which names the last error. A
  // back-off that would end after it is not begun either: the next route is tried, or that is the end.
  // ChatRequest::deadline wins where it is earlier.
  Duration deadline{0};
  // Set: the wait after the n-th failed attempt of a route (1, 2, ...), instead of the rule above,
  // Retry-After included. It does not shorten what the queue keeps to: where CallLimits::learn is set, a
  // Retry-After holds the endpoint's slots until it is over, whatever this says. If it throws, the rule above
  // holds. @loop_thread
  std::function<Duration(std::uint32_t attempt, const Error& error)> backoff = {};
};

// An endpoint that fails again and again is left alone for a while.
struct BreakerPolicy {
  // In a row, of kinds that say that the endpoint is ill: no connection, time-outs, cuts, 5xx. Any answer of
  // it, 4xx included, begins the row anew. 0: never opens.
  std::uint32_t failures = 5;
  // Then one call at a time may try; the beginning of an answer closes the circuit.
  Duration open_for = std::chrono::seconds(30);
};

// Told before a call goes on elsewhere or later.
struct RetryNotice {
  std::string_view agent_id;
  std::uint32_t attempt = 0;   // of its route: the one that failed; 0: none was made, it is passed over
  std::size_t route = 0;       // index of the route that failed
  std::size_t next_route = 0;  // the same: it is tried again
  Duration delay{0};           // until then: the back-off, or what the endpoint asked for if that is longer
  const Error& error;
};

struct RouterOptions {
  std::vector<Route> routes = {};  // in order of preference; at least one
  RetryPolicy retry = {};
  BreakerPolicy breaker = {};
  std::shared_ptr<CallSlots> slots = {};  // to share limits with other routers; null: its own, by `limits`
  CallLimits limits = {};
  std::function<void(const RetryNotice&)> on_retry = {};  // @loop_thread
};

// Takes each call along its routes until there is an answer:
//
//   - What passes (network, time-outs, HTTP 408, 429 and 5xx) is tried again on the same route, up to
//     max_attempts, and then on the next one.
//   - What is the model's (unknown, too small for the context) goes on with the next route at once.
//   - Everything else, a bad key for example, is the end: the next route would only hide it.
//   - A call of which anything was delivered, words or thoughts, is never tried again: half an answer and a
//     whole one are not to be mixed. Its error is the outcome.
//   - A route whose circuit is open, or who asks for more patience than allowed, is passed over. When none is
//     left, the last error is the outcome.
//
// A stop ends whatever the call is at, on the spot: an attempt, a back-off, the wait for a slot. Its outcome
// is `cancelled`, and nothing of it is tried again (A9, G5). An attempt keeps its slot until its client has
// let go. The outcome's usage is that of all attempts; so is its cost, which is unknown when that of an
// attempt that used tokens is. An error's message says how many attempts there were and on which route the
// last.
//
// All functions are @loop_thread but abort() and has_active_request(). Destroying it cancels what is open.
class LlmRouter final : public LlmClient {
 public:
  LlmRouter(Runtime& runtime, RouterOptions options);
  ~LlmRouter() override;
  LlmRouter(const LlmRouter&) = delete;
  LlmRouter& operator=(const LlmRouter&) = delete;

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  std::size_t open_calls() const noexcept;  // in whatever phase
  const CallSlots& slots() const noexcept;
  // Whether a call would pass that route over now because its circuit is open, or half open with a call that
  // tries it already.
  bool is_open(std::size_t route) const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore
