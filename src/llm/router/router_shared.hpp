// RouterShared: the state that the calls of one router share.
#pragma once

#include "llm/active_calls.hpp"
#include "llm/router/breaker.hpp"
#include "llm/router/slots.hpp"
#include "loop/engine.hpp"

#include <agentcore/llm_router.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace agentcore::detail::llm {

class RouterCall;

// Lives as long as the last of the calls.
struct RouterShared {
  // One route, and the state that it shares with other routes of the same endpoint.
  struct RouteEntry {
    Route route;
    std::shared_ptr<Endpoint> endpoint;
    std::shared_ptr<Breaker> breaker;
  };

  RouterShared(std::shared_ptr<loop::Engine> loop, std::shared_ptr<Slots> call_slots,
               const RouterOptions& options);

  const std::shared_ptr<loop::Engine> engine;
  const std::shared_ptr<Slots> slots;
  const RetryPolicy retry;
  const std::function<void(const RetryNotice&)> on_retry;
  const std::shared_ptr<ActiveCalls> active = std::make_shared<ActiveCalls>();
  std::vector<RouteEntry> routes;
  std::map<std::uint64_t, std::shared_ptr<RouterCall>> open;  // without an outcome yet, by number
  std::uint64_t started = 0;
  bool closing = false;
};

}  // namespace agentcore::detail::llm
