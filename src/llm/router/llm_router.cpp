#include "core/home_process.hpp"
#include "llm/router/router_call.hpp"
#include "llm/router/router_options.hpp"
#include "llm/router/slots.hpp"
#include "loop/engine.hpp"

#include <agentcore/llm_router.hpp>
#include <agentcore/runtime.hpp>

#include <optional>
#include <utility>

namespace agentcore {

struct LlmRouter::Impl {
  std::shared_ptr<CallSlots> slots;
  std::optional<Error> error;  // of the options
  std::shared_ptr<detail::llm::RouterShared> shared;
};

LlmRouter::LlmRouter(Runtime& runtime, RouterOptions options) : impl_(std::make_shared<Impl>()) {
  impl_->slots =
      options.call_slots ? options.call_slots.shared() : std::make_shared<CallSlots>(runtime, options.limits);
  impl_->error = detail::llm::check_options(options);
  if (!impl_->error && impl_->slots->impl_->engine() != detail::loop::engine_of(runtime))
    impl_->error =
        Error{Errc::invalid_config,
              "RouterOptions::call_slots belongs to another Runtime; pass CallSlots of the router's Runtime"};
  if (impl_->error) options.routes.clear();
  impl_->shared = std::make_shared<detail::llm::RouterShared>(detail::loop::engine_of(runtime),
                                                              impl_->slots->impl_, options);
}

LlmRouter::~LlmRouter() {
  const auto shared = impl_->shared;
  if (shared->engine->in_forked_child()) {
    detail::core::keep_for_ever(std::move(impl_));
    return;
  }
  shared->closing = true;
  while (!shared->open.empty()) {
    const auto call = shared->open.begin()->second;
    call->cancel();
  }
}

void LlmRouter::chat(ChatRequest request, StopToken stop, ChatSink sink) {
  if (impl_->error) return sink.finish(ChatOutcome::failed(ChatError::from(*impl_->error)));
  const auto& shared = impl_->shared;
  if (shared->engine->refuses_thread("LlmRouter::chat"))
    return sink.finish(ChatOutcome::failed(ChatError::from(detail::loop::wrong_thread("LlmRouter::chat"))));
  if (stop.stop_requested() || shared->closing || shared->engine->closed())
    return sink.finish(ChatOutcome::cancelled(Usage{}));
  const auto call = std::make_shared<detail::llm::RouterCall>(shared, std::move(request));
  call->start(std::move(stop), std::move(sink));
}

bool LlmRouter::abort(std::string_view agent_id) {
  return impl_->shared->active->abort(agent_id);
}

bool LlmRouter::has_active_request(std::string_view agent_id) const {
  return impl_->shared->active->contains(agent_id);
}

std::size_t LlmRouter::open_calls() const noexcept {
  if (impl_->shared->engine->refuses_thread("LlmRouter::open_calls")) return 0;
  return impl_->shared->open.size();
}

const CallSlots& LlmRouter::call_slots() const noexcept {
  return *impl_->slots;
}

bool LlmRouter::is_circuit_open(std::size_t route) const noexcept {
  if (impl_->shared->engine->refuses_thread("LlmRouter::is_circuit_open")) return false;
  const auto& routes = impl_->shared->routes;
  return route < routes.size() && !routes[route].breaker->admits(impl_->shared->engine->now());
}

}  // namespace agentcore
