// LlmRouter: an LlmClient that retries, uses other routes and keeps to limits.
#pragma once

#include <agentcore/call_slots.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/no_limit.hpp>
#include <agentcore/shared_or_borrowed.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// A client and a model that a router can use for a call.
struct Route {
  SharedOrBorrowed<LlmClient> client = {};  ///< Required.
  /// The model to request. Empty: the model of the request, or else the default model of the client.
  std::string model = {};
  /// The endpoint. Routes of the same endpoint share its slots, limits and circuit. Empty: one endpoint for
  /// each client.
  std::string endpoint = {};
};

/// Whether and when a failed attempt is repeated. Values out of range make every call fail with
/// Errc::invalid_config.
struct RetryPolicy {
  std::uint32_t max_attempts = 3;  ///< Attempts for each route, the first one included; >= 1.
  /// The back-off after the n-th failed attempt of a route is a random time from 0 to the smaller of
  /// max_delay and first_delay * 2^(n-1) (full jitter), but at least as long as the server requested; >= 0.
  Duration first_delay = std::chrono::seconds(1);
  Duration max_delay = std::chrono::seconds(30);  ///< The upper limit of that random time; >= 0.
  /// The longest pause, requested by an endpoint, that a call waits for; >= 0. If the endpoint requests a
  /// longer pause, the call continues with the next route, or fails. This also applies to the calls that
  /// already wait for a slot of the endpoint, and to a call that starts to wait for an endpoint whose pause
  /// ends after the deadline of the call.
  Duration max_retry_after = std::chrono::minutes(1);
  /// The time-out of a whole call, from its start: waits for slots, attempts and back-offs together; >= 0.
  /// After it the call ends with Errc::deadline_exceeded, whose message includes the last error:
  /// what runs then is ended, and nothing is started later. A back-off that would end later is not started
  /// either: the call continues with the next route, or ends. It also runs while the agent is paused
  /// (Agent::pause()). ChatRequest::deadline applies instead where it is earlier.
  ///
  /// Where the loop is late, an answer counts that is there when it reads the time-out: one that a client has
  /// posted from another thread (Runtime::post), or that can be read from its connection. The deadline of a
  /// turn (AgentLimits::turn_timeout, SendOptions::deadline) wins against both.
  Duration timeout = no_limit;
  /// If set: returns the back-off after the n-th failed attempt of a route (1, 2, ...), in place of the rule
  /// above and of Retry-After. A negative result counts as 0. The function does not shorten a pause of the
  /// slots: with CallLimits::learn, a Retry-After blocks the slots of the endpoint until it is over. If the
  /// function throws, the rule above applies.
  ///
  /// @loop_thread
  std::function<Duration(std::uint32_t attempt, const ChatError& error)> backoff = {};
};

/// When the circuit of an endpoint opens. While it is open, the router sends no call there. Each router has
/// circuits of its own.
struct BreakerPolicy {
  /// Failures in a row that open the circuit. Failures of the endpoint are counted: no connection, time-outs,
  /// broken connections, HTTP 5xx, and retryable errors that it reports in an answer that began with success.
  /// Any other answer of the endpoint, 4xx included, resets the count. At least 1. no_limit: the circuit
  /// never opens.
  std::uint32_t failures = 5;
  /// How long the circuit stays open; >= 0. After that one call at a time may try the endpoint. The circuit
  /// closes when the endpoint begins to answer.
  Duration open_for = std::chrono::seconds(30);
};

/// Describes how a call continues after a failed attempt. The references are valid during the callback.
struct RetryNotice {
  std::string_view agent_id;  ///< The agent of the call. Empty: anonymous.
  std::uint32_t attempt = 0;  ///< The failed attempt of `route`, from 1. 0: the route was skipped, not tried.
  std::size_t route = 0;      ///< Index of the route that failed.
  std::size_t next_route = 0;  ///< Index of the next route. Equal to `route`: the route is tried again.
  Duration delay{0};  ///< The wait before that: the back-off, or a longer pause that the endpoint requested.
  const ChatError& error;  ///< Why the route failed or was skipped.
};

/// The options of an LlmRouter.
struct RouterOptions {
  std::vector<Route> routes = {};  ///< In order of preference; at least one.
  RetryPolicy retry = {};          ///< Whether and when a failed attempt is repeated.
  BreakerPolicy breaker = {};      ///< When the circuit of an endpoint opens.
  SharedOrBorrowed<CallSlots> call_slots =
      {};                  ///< Slots shared with other routers. Null: slots with `limits`.
  CallLimits limits = {};  ///< The limits of the router. Ignored if `call_slots` is set.
  /// Called before a call continues on another route or waits for its next attempt. An exception is logged
  /// and does not affect the call. Empty: not called.
  ///
  /// @loop_thread
  std::function<void(const RetryNotice&)> on_retry = {};
};

/// Sends each call to its routes, one after the other, until there is an answer:
///
///   - Transient errors (network, time-outs, HTTP 408, 409, 429 and 5xx, an overload or a rate limit that is
///     reported in an answer) are retried on the same route, up to max_attempts, and then on the next one.
///   - Errors of the model (unknown, or its context is too small) and of the account (used up) continue with
///     the next route at once.
///   - Every other error, for example a wrong key, ends the call: the next route would only hide it.
///   - A call that has delivered anything, a delta of the answer or of the reasoning, is never retried:
///     a partial answer must not be mixed with another one. Its error is the outcome.
///   - A route whose circuit is open, or whose endpoint requests a longer pause than allowed, is skipped.
///     If no route is left, the last error is the outcome.
///
/// A stop ends the call at once, in every phase: during an attempt, during a back-off, and while it waits for
/// a slot. The outcome is `cancelled`, and nothing is retried (G5). An attempt holds its slot until its
/// client has released the ChatSink.
///
/// The usage of the outcome is the sum of all attempts, and so is the cost. The cost is unknown if that of an
/// attempt that used tokens is unknown. The message of an error includes the number of attempts and the last
/// route.
///
/// Invalid options make every call fail with Errc::invalid_config: no routes, a route without a client, a
/// value out of range, or `call_slots` of another Runtime.
///
///     agentcore::LlmRouter llm{
///         runtime,
///         {.routes = {{.client = &large, .model = "large"}, {.client = &small, .model = "small"}},
///          .retry = {.max_attempts = 3, .timeout = std::chrono::minutes(2)},
///          .limits = {.total = 8, .requests_per_minute = 500}}};
///     agentcore::AgentTree tree{runtime, {.llm = &llm}};
///
/// All functions except abort() and has_active_request():
/// @loop_thread
class AGENTCORE_API LlmRouter final : public LlmClient {
 public:
  /// Makes a router.
  LlmRouter(Runtime& runtime, RouterOptions options);
  /// Cancels all open calls: each receives the outcome `cancelled` before the destructor returns.
  /// @loop_thread
  ~LlmRouter() override;
  LlmRouter(const LlmRouter&) = delete;
  LlmRouter& operator=(const LlmRouter&) = delete;

  void chat(ChatRequest request, StopToken stop, ChatSink sink) override;
  bool abort(std::string_view agent_id) override;
  bool has_active_request(std::string_view agent_id) const override;

  /// Returns the number of calls without an outcome, in any phase.
  std::size_t open_calls() const noexcept;
  /// Returns RouterOptions::call_slots, or the slots of this router.
  const CallSlots& call_slots() const noexcept;
  /// True if a call would skip the route of that index now because its circuit is open, or because another
  /// call is trying the endpoint after the circuit was open. False if there is no such route.
  bool is_circuit_open(std::size_t route) const noexcept;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore
