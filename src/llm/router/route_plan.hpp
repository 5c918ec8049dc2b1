// RoutePlan: the current route of a call, and where and when the call may continue.
#pragma once

#include "llm/router/router_shared.hpp"
#include "llm/router/verdict.hpp"

#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace agentcore::detail::llm {

// Decides only, without side effects. `shared` must outlive each use. @loop_thread
class RoutePlan {
 public:
  RoutePlan(const RouterShared& shared, const ChatRequest& request);

  // The position of the call.
  void enter(std::size_t route) noexcept;
  void count_attempt() noexcept { ++attempt_, ++attempts_; }
  std::size_t route() const noexcept { return route_; }
  const RouterShared::RouteEntry& entry() const noexcept { return shared_.routes[route_]; }
  std::uint32_t attempt() const noexcept { return attempt_; }  // of this route
  bool is_last_attempt() const noexcept;                       // that is allowed, on all routes
  Progress progress() const noexcept;

  // The limits of the call.
  std::uint64_t tokens() const noexcept { return tokens_; }  // estimate for one attempt
  const std::optional<TimePoint>& deadline() const noexcept { return deadline_; }
  bool is_late_at(TimePoint when) const noexcept { return deadline_ && when >= *deadline_; }
  // The longest pause of an endpoint that the call waits for. A pause that ends at the deadline would be too
  // long.
  Duration max_wait() const noexcept;

  // The first route from `from` on that may be tried now; the number of routes if there is none. `why` is the
  // reason why the first unusable route is skipped.
  std::size_t usable(std::size_t from, ChatError& why) const;
  std::size_t routes() const noexcept { return shared_.routes.size(); }
  // The pause that the endpoint of that route asks of this call.
  Duration pause_of(std::size_t route) const noexcept;
  // Why the call does not wait for the pause of its route.
  ChatError pause_error() const { return pause_error(pause_of(route_)); }
  // True if the policy allows another attempt on the route after an attempt that failed so.
  bool may_try_again(const ChatError& error) const noexcept;
  // The outcome of a call that ends after an attempt that failed so.
  ChatError last_error(const ChatError& error) const;

 private:
  ChatError pause_error(Duration pause) const;

  const RouterShared& shared_;
  const std::uint64_t tokens_;
  const std::optional<TimePoint> deadline_;
  std::size_t route_ = 0;
  std::uint32_t attempt_ = 0;
  std::uint64_t attempts_ = 0;  // on all routes
};

}  // namespace agentcore::detail::llm
