#include "tools/call_scope.hpp"

#include "loop/time.hpp"
#include "tools/contain.hpp"

#include <utility>

namespace agentcore::detail::tools {

void ContextAccess::hand_over(const ToolContext& context) {
  const CallScope& call = scope(context);
  if (call.begin->hand_over(call.stop)) call.owner->on_handed_over(call);
}

// The gate is asked first: a stop that has returned, and cuts the call later, lets nothing begin. Of a stop
// that is made meanwhile, CallBegin decides.
bool ContextAccess::begin(const ToolContext& context) {
  const CallScope& call = scope(context);
  if (call.owner->refusal_of(call) != Errc::none) {
    call.begin->withdraw();
    return false;
  }
  if (call.timeout != no_limit && call.begin->waits()) {
    call.begin->set_end(loop::later(call.engine->now(), call.timeout));
    call.engine->post([scope = context.scope_] { scope->owner->on_begun(*scope); });
  }
  return call.begin->begin();
}

void Completion::finish(ToolResult result) noexcept {
  if (finished.exchange(true, std::memory_order_acq_rel)) return;
  try {
    if (scope->engine->on_loop_thread() && starting)
      return scope->owner->on_result(*scope, std::move(result));
    scope->begin->set_result(scope->engine->on_loop_thread() ? TimePoint::min() : scope->engine->now());
    // The scope holds the agent's handle, and with it the owner, until this function has run or was
    // destroyed.
    scope->engine->post([scope = scope, held = std::make_shared<ToolResult>(std::move(result))] {
      scope->owner->on_result(*scope, std::move(*held));
    });
  } catch (...) {
    // No memory to post the result. The destructor of the last ToolDone posts a failed one; if that fails,
    // too, the call ends with its time-out or the stop of its agent.
    scope->begin->set_result(TimePoint::max());
    lost = true;
    finished = false;
  }
}

void Completion::fail(std::string_view before, std::string_view what) noexcept {
  ToolResult result{.success = false};
  try {
    result.message.append(before).append(what);
  } catch (const std::bad_alloc&) {
    result.message.clear();
  }
  finish(std::move(result));
}

std::shared_ptr<Completion> make_completion(std::shared_ptr<const CallScope> scope) {
  return std::make_shared<Completion>(std::move(scope));
}

void start_call(const Tool& tool, const nlohmann::json& arguments,
                const std::shared_ptr<Completion>& completion) noexcept {
  completion->finished = false;
  completion->starting = true;
  const auto thrown = contain(*completion->scope->engine, "a tool", [&] {
    tool.start(arguments, ToolContext(completion->scope), ToolDone(completion));
  });
  if (thrown) completion->fail("the tool failed: ", *thrown);
  completion->starting = false;
  completion->scope->begin->end_start();
}

}  // namespace agentcore::detail::tools
