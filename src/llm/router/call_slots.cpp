#include "llm/router/slots.hpp"
#include "loop/engine.hpp"

#include <agentcore/runtime.hpp>

namespace agentcore {

CallSlots::CallSlots(Runtime& runtime, CallLimits limits)
    : impl_(std::make_shared<Impl>(detail::loop::engine_of(runtime), limits)) {
}

CallSlots::~CallSlots() = default;

void CallSlots::set_endpoint(std::string endpoint, const EndpointLimits& limits) {
  if (impl_->engine()->refuses_thread("CallSlots::set_endpoint")) return;
  impl_->set_endpoint(endpoint, limits);
}

std::size_t CallSlots::running() const noexcept {
  return impl_->engine()->refuses_thread("CallSlots::running") ? 0 : impl_->running();
}
std::size_t CallSlots::running(std::string_view endpoint) const noexcept {
  return impl_->engine()->refuses_thread("CallSlots::running") ? 0 : impl_->running(endpoint);
}
std::size_t CallSlots::waiting() const noexcept {
  return impl_->engine()->refuses_thread("CallSlots::waiting") ? 0 : impl_->waiting();
}

}  // namespace agentcore
