#include "llm/router/router_options.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace agentcore::llm {
namespace {

Error invalid(std::string message) {
  return {Errc::invalid_config, std::move(message)};
}

std::optional<Error> check_routes(const std::vector<Route>& routes) {
  if (routes.empty())
    return invalid("RouterOptions::routes is empty; give it at least one Route with a client");
  for (std::size_t i = 0; i < routes.size(); ++i)
    if (routes[i].client == nullptr)
      return invalid(fmt::format("RouterOptions::routes[{}].client is null; every route needs a client", i));
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_options(const RouterOptions& options) {
  if (auto error = check_routes(options.routes)) return error;
  const RetryPolicy& retry = options.retry;
  if (retry.max_attempts == 0)
    return invalid("RetryPolicy::max_attempts must be at least 1; 1 means that nothing is tried again");
  const std::pair<Duration, const char*> times[] = {{retry.first_delay, "RetryPolicy::first_delay"},
                                                    {retry.max_delay, "RetryPolicy::max_delay"},
                                                    {retry.max_retry_after, "RetryPolicy::max_retry_after"},
                                                    {retry.deadline, "RetryPolicy::deadline"},
                                                    {options.breaker.open_for, "BreakerPolicy::open_for"}};
  for (const auto& [time, name] : times)
    if (time < Duration::zero()) return invalid(fmt::format("{} must not be negative", name));
  return std::nullopt;
}

}  // namespace agentcore::llm
