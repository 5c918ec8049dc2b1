#include "tools/call_scope.hpp"

#include "tools/contain.hpp"

#include <utility>

namespace agentcore::tools {

void Completion::finish(ToolResult result) noexcept {
  if (finished.exchange(true, std::memory_order_acq_rel)) return;
  try {
    if (scope->engine->on_loop_thread() && starting)
      return scope->owner->on_result(*scope, std::move(result));
    // The scope holds the agent's handle, and with it the owner, until this has run or was dropped.
    scope->engine->post([scope = scope, held = std::make_shared<ToolResult>(std::move(result))] {
      scope->owner->on_result(*scope, std::move(*held));
    });
  } catch (...) {  // no memory to say so: the call is given up when its agent stops
  }
}

void start_call(const Tool& tool, const nlohmann::json& arguments, std::shared_ptr<const CallScope> scope) {
  const auto completion = std::make_shared<Completion>(scope);
  completion->starting = true;
  const auto thrown = contain(*scope->engine, "a tool",
                              [&] { tool.start(arguments, ToolContext(scope), ToolDone(completion)); });
  if (thrown) completion->finish(ToolResult::failed("the tool failed: " + *thrown));
  completion->starting = false;
}

}  // namespace agentcore::tools
