// CallSlots: limits of concurrent model calls, and of calls and tokens per minute.
#pragma once

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/no_limit.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace agentcore {

/// Limits of model calls. Each number is at least 1, or no_limit; 0 counts as 1. By default calls are limited
/// only by what the endpoints report (see `learn`).
struct CallLimits {
  std::uint32_t total = no_limit;         ///< Concurrent calls to all endpoints together.
  std::uint32_t per_endpoint = no_limit;  ///< Concurrent calls to one endpoint.
  std::uint32_t per_agent = no_limit;     ///< Concurrent calls of one agent. Anonymous calls are not counted.
  /// Requests per minute to one endpoint. A full minute's worth may start at once; after that, calls start as
  /// the amount refills, evenly.
  std::uint64_t requests_per_minute = no_limit;
  /// Tokens per minute to one endpoint, prompt and completion together; applied like requests_per_minute.
  /// They are estimated before a call and corrected by its usage.
  std::uint64_t tokens_per_minute = no_limit;
  /// Calls that may wait for a slot; 0: none. A further call: Errc::queue_full.
  std::size_t max_waiting = 10'000;
  /// True: applies the limits that endpoints report (headers, Retry-After), each for at most one hour.
  bool learn = true;
};

/// Limits of the calls to one endpoint. Each number is at least 1, or no_limit; 0 counts as 1.
struct EndpointLimits {
  std::uint32_t calls = no_limit;                ///< Concurrent calls, as CallLimits::per_endpoint.
  std::uint64_t requests_per_minute = no_limit;  ///< As CallLimits::requests_per_minute.
  std::uint64_t tokens_per_minute = no_limit;    ///< As CallLimits::tokens_per_minute.
};

/// The slots of model calls. Routers that share one CallSlots object share its limits.
///
/// A call that finds no free slot waits. Waiting calls get slots in the order in which they came, but no call
/// waits behind a call whose own endpoint or agent is at its limit. A call that is stopped while it waits
/// leaves the queue at once. A slot is free as soon as its attempt has ended; a call holds no slot during a
/// back-off. After a back-off a call returns to its previous place in the queue and is not rejected because
/// the queue is full.
///
/// A router that is a route of another router needs a CallSlots object of its own. If both shared one, the
/// outer calls would hold the slots that the inner calls wait for.
///
/// May outlive its Runtime.
///
///     auto slots = std::make_shared<agentcore::CallSlots>(runtime, agentcore::CallLimits{.total = 8});
///     slots->set_endpoint("local", {.calls = 1});
///     agentcore::LlmRouter llm{
///         runtime, {.routes = {{.client = &model, .endpoint = "local"}}, .call_slots = slots}};
///
/// @loop_thread
class AGENTCORE_API CallSlots {
 public:
  /// Makes slots with `limits`, for routers of `runtime`.
  explicit CallSlots(Runtime& runtime, CallLimits limits = {});
  /// Destroys the object. Routers that share it keep its slots and limits.
  /// @loop_thread
  ~CallSlots();
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;

  /// Replaces the limits of the endpoint that routes name `endpoint` (Route::endpoint). A field that is not
  /// given is no limit, whatever the CallLimits say. May be called at any time.
  void set_endpoint(std::string endpoint, const EndpointLimits& limits);

  /// Returns the number of slots in use.
  std::size_t running() const noexcept;
  /// Returns the number of slots in use for the endpoint of that name; 0 if there is none.
  std::size_t running(std::string_view endpoint) const noexcept;
  /// Returns the number of calls that wait for a slot.
  std::size_t waiting() const noexcept;

 private:
  friend class LlmRouter;
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace agentcore
