// EndpointTable: the endpoints that calls go to, with their limits and queues.
#pragma once

#include "llm/router/rate_limiter.hpp"

#include <agentcore/call_slots.hpp>
#include <agentcore/clock.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace agentcore {
class LlmClient;
}

namespace agentcore::detail::llm {

class Waiter;
struct Caller;
struct Endpoint;

// The waiting calls of one agent to one endpoint, in order. Only the first of them competes with other lanes,
// so the cost of a queue depends on the number of its lanes only.
struct Lane {
  Endpoint* endpoint = nullptr;
  Caller* caller = nullptr;                            // null: of anonymous calls, which are not counted
  std::map<std::uint64_t, Waiter*> waiters;            // by place
  std::uint64_t listed_as = 0;                         // place in Endpoint::ready; 0: it is not there
  std::map<std::uint64_t, Lane*>::node_type unlisted;  // its entry of Endpoint::ready while it is not there
};

struct Endpoint {
  std::uint32_t limit = no_limit;  // of calls that run at a time
  std::uint32_t running = 0;
  RateLimiter rate;
  std::map<std::uint64_t, Lane*> ready;  // lanes whose caller is not at its limit, by their first place
  std::map<std::pair<Duration, std::uint64_t>, Waiter*> by_max_wait;  // all that wait
  Lane anonymous;
};

// @loop_thread
class EndpointTable {
 public:
  explicit EndpointTable(const CallLimits& limits)
      : limits_{limits.per_endpoint, limits.requests_per_minute, limits.tokens_per_minute} {}

  // The endpoint of that name, created when it is first needed.
  std::shared_ptr<Endpoint> named(std::string_view name);
  // The nameless endpoint of a client. Removed when it is no longer held.
  std::shared_ptr<Endpoint> of(const LlmClient* client);
  // The endpoint of that name; null: it does not exist.
  const Endpoint* find(std::string_view name) const noexcept;
  void set_limits(std::string_view name, const EndpointLimits& limits);

 private:
  static std::shared_ptr<Endpoint> make(const EndpointLimits& limits);

  const EndpointLimits limits_;  // of an endpoint without its own
  std::map<std::string, std::shared_ptr<Endpoint>, std::less<>> named_;
  std::map<const LlmClient*, std::weak_ptr<Endpoint>> nameless_;
};

}  // namespace agentcore::detail::llm
