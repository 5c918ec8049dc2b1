#include "llm/router/router_shared.hpp"

#include <utility>

namespace agentcore::detail::llm {

RouterShared::RouterShared(std::shared_ptr<loop::Engine> loop, std::shared_ptr<Slots> call_slots,
                           const RouterOptions& options)
    : engine(std::move(loop)),
      slots(std::move(call_slots)),
      retry(options.retry),
      on_retry(options.on_retry) {
  std::map<const Endpoint*, std::shared_ptr<Breaker>> breakers;
  for (const Route& route : options.routes) {
    auto endpoint =
        route.endpoint.empty() ? slots->endpoint_of(route.client.get()) : slots->endpoint(route.endpoint);
    std::shared_ptr<Breaker>& breaker = breakers[endpoint.get()];
    if (!breaker) breaker = std::make_shared<Breaker>(options.breaker);
    routes.push_back({route, std::move(endpoint), breaker});
  }
}

}  // namespace agentcore::detail::llm
