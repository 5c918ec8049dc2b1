#include "llm/router/router_options.hpp"

#include "core/validate.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace agentcore::detail::llm {
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
  if (auto problem = core::Validation("RetryPolicy")
                         .count("max_attempts", retry.max_attempts, 1)
                         .not_negative("first_delay", retry.first_delay)
                         .not_negative("max_delay", retry.max_delay)
                         .not_negative("max_retry_after", retry.max_retry_after)
                         .not_negative("timeout", retry.timeout)
                         .problem())
    return problem;
  return core::Validation("BreakerPolicy")
      .count("failures", options.breaker.failures, 1)
      .not_negative("open_for", options.breaker.open_for)
      .problem();
}

}  // namespace agentcore::detail::llm
