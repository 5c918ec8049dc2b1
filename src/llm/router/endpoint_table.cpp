#include "llm/router/endpoint_table.hpp"

#include <utility>

namespace agentcore::detail::llm {
namespace {

void configure(Endpoint& endpoint, const EndpointLimits& limits) noexcept {
  endpoint.limit = limits.calls;
  endpoint.rate.set_limits(limits.requests_per_minute, limits.tokens_per_minute);
}

}  // namespace

std::shared_ptr<Endpoint> EndpointTable::make(const EndpointLimits& limits) {
  auto made = std::make_shared<Endpoint>();
  made->anonymous.endpoint = made.get();
  configure(*made, limits);
  return made;
}

std::shared_ptr<Endpoint> EndpointTable::named(std::string_view name) {
  const auto found = named_.find(name);
  if (found != named_.end()) return found->second;
  return named_.emplace(name, make(limits_)).first->second;
}

std::shared_ptr<Endpoint> EndpointTable::of(const LlmClient* client) {
  std::erase_if(nameless_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Endpoint>& known = nameless_[client];
  if (auto alive = known.lock()) return alive;
  auto made = make(limits_);
  known = made;
  return made;
}

const Endpoint* EndpointTable::find(std::string_view name) const noexcept {
  const auto found = named_.find(name);
  return found == named_.end() ? nullptr : found->second.get();
}

void EndpointTable::set_limits(std::string_view name, const EndpointLimits& limits) {
  configure(*named(name), limits);
}

}  // namespace agentcore::detail::llm
