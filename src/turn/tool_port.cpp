#include "turn/tool_port.hpp"

#include "core/text_hash.hpp"
#include "loop/time.hpp"
#include "turn/call_ends.hpp"
#include "turn/limited.hpp"
#include "turn/question_desk.hpp"
#include "turn/turn_deadline.hpp"

#include <chrono>
#include <cstdio>
#include <utility>

namespace agentcore::detail::turn {
namespace {

Errc refusal_of_state(AgentState state) noexcept {
  switch (state) {
    case AgentState::stopping:
      return Errc::agent_stopping;
    case AgentState::stopped:
      return Errc::agent_stopped;
    default:
      return Errc::agent_terminating;
  }
}

// ToolContext::idempotency_key(). All parts stay the same when the call is made again. A process that ended
// before its last commit may have made another call with the same numbers: the message or the request was
// another one.
std::string key_of(const std::string& identity, Turn turn, const Call& call) {
  const ToolCallRecord& step = CallEnds::step_of(turn, call);
  const std::uint64_t request =
      core::text_hash(call.names.window_id + '\0' + call.names.tool + '\0' + call.arguments);
  char text[96];
  std::snprintf(text, sizeof text, "-%llx-%llx-%u-%u-%llx", static_cast<unsigned long long>(call.agent),
                static_cast<unsigned long long>(turn.active().message.value), step.round, step.index,
                static_cast<unsigned long long>(request));
  return identity + text;
}

// A call that waits longer for its executor is logged.
constexpr Duration not_taken_after = std::chrono::seconds(5);

}  // namespace

std::shared_ptr<tools::CallScope> ToolPort::scope_of(Turn turn, const Call& asked, const Call& call) {
  const OperationId id = call.operation;
  const Operation& operation = context_.operations[id];
  auto scope = std::make_shared<tools::CallScope>(tools::CallScope{
      context_.engine.shared_from_this(), this, id, context_.hub.handle(turn.node()), call.names.id,
      operation.turn, key_of(context_.own_identity(), turn, asked), operation.epoch, !call.is_task(),
      operation.stop.get_token(), TimePoint::max(), context_.limits.max_result_bytes,
      asked.found.entry.tool->spec.timeout.value_or(context_.limits.tool_timeout)});
  if (scope->timeout != no_limit) {
    scope->begin->set_end(loop::later(context_.engine.now(), scope->timeout));
    start_timeout(id, *scope);
  }
  if (!call.is_task() && turn.active().deadline) scope->deadline = turn.active().deadline->when;
  return scope;
}

void ToolPort::start_timeout(OperationId id, const tools::CallScope& call) {
  loop::Engine& engine = context_.engine;
  const std::uint64_t timer = engine.start_timer(
      call.begin->ends_at(), [this, id, timeout = call.timeout] { on_timeout(id, timeout); });
  context_.operations[id].timer = Timer(engine.weak_from_this(), timer);
}

// Instead of the time-out, there is the timer of a log record.
void ToolPort::on_handed_over(const tools::CallScope& call) {
  call.begin->set_end(TimePoint::max());
  Operation* const operation = context_.operations.find(call.operation);
  if (!operation) return;
  operation->timer = {};
  loop::Engine& engine = context_.engine;
  engine.guarded("a record of a call that waits for its executor", [&] {
    const std::uint64_t timer = engine.start_timer(
        loop::later(engine.now(), not_taken_after), [this, id = call.operation] { on_not_taken(id); },
        loop::TimerUse::watch);
    operation->timer = Timer(engine.weak_from_this(), timer);
  });
}

// One record stands for all calls that wait at that time: there may be many.
void ToolPort::on_not_taken(OperationId id) noexcept {
  const Operation* const operation = context_.operations.find(id);
  if (!operation || operation->over || !operation->call->begin->waits()) return;
  const TimePoint now = context_.engine.now();
  if (told_not_taken_ && now < loop::later(*told_not_taken_, not_taken_after)) return;
  told_not_taken_ = now;
  const AgentEntry entry(context_, *operation->node);
  context_.engine.guarded("a log record", [&] {
    context_.log(LogLevel::warning, "a tool call waits: its executor has not taken it yet",
                 {{"agent", context_.name_of(*operation->node)},
                  {"tool", operation->call->names.tool},
                  {"call", operation->call->names.id},
                  {"waited", text_of(not_taken_after)}});
  });
}

void ToolPort::on_begun(const tools::CallScope& call) {
  const Operation* const operation = context_.operations.find(call.operation);
  if (operation && !operation->over) start_timeout(call.operation, call);
}

Errc ToolPort::refusal_of(const tools::CallScope& call) const noexcept {
  const core::NodeId agent = core::AgentAccess::node(call.agent);
  const core::Node* const node = context_.table.find(agent);
  if (context_.engine.closed()) return Errc::runtime_gone;
  if (!node) return Errc::agent_not_found;
  context_.table.leases().check(*node);
  const core::GateView view = core::look_again(*node, core::generation_of(agent));
  if (!view.valid) return Errc::agent_not_found;
  if (!view.open()) return refusal_of_state(view.effective);
  const bool in_time = !call.in_turn || core::admits_turn(*node, core::generation_of(agent), call.epoch);
  return in_time && !call.stop.stop_requested() ? Errc::none : Errc::call_over;
}

SendResult ToolPort::delegate(const tools::CallScope& call, const Agent& to, bool of_call, Message message,
                              SendOptions options) {
  if (const Errc refused = refusal_of(call); refused != Errc::none) return SendResult{refused};
  if (core::Node* const node = of_call ? context_.find(core::AgentAccess::node(to)) : nullptr)
    data_of(*node).of_call = true;
  return context_.listener.on_delegated(core::AgentAccess::node(to), std::move(message), std::move(options),
                                        call.begin);
}

std::vector<std::string>* ToolPort::tool_children(const tools::CallScope& call) {
  core::Node* const node = context_.find(core::AgentAccess::node(call.agent));
  return node ? &data_of(*node).tool_children : nullptr;
}

void ToolPort::on_progress(const tools::CallScope& call, std::string text) {
  Operation* const operation = context_.operations.find(call.operation);
  if (!operation || operation->over) return;
  core::Node& node = *operation->node;
  const AgentEntry entry(context_, node);
  if (!is_admitted_now(*operation)) return;
  context_.note_accepted(node);
  context_.hub.emit(node, [&](Agent agent) {
    return ToolProgress{std::move(agent), call.turn, call.call_id,
                        limited(std::move(text), context_.limits.max_result_bytes)};
  });
}

void ToolPort::on_result(const tools::CallScope& call, ToolResult result) {
  const OperationId id = call.operation;
  // The loop is late: it has not read the timer yet.
  if (call.begin->has_result() && !call.begin->has_result_in_time()) expire(id, call.timeout);
  const Operation* const operation = context_.operations.find(id);
  core::Node* const node = operation ? operation->node : context_.find(core::AgentAccess::node(call.agent));
  if (!node) return;
  const AgentEntry entry(context_, *node);
  result = ends_.checked(std::move(result));
  if (!operation && call.begin->is_withdrawn()) return;  // it has ended without a begin
  if (!operation)                                        // it was abandoned
    return context_.discard(*node, call.turn, 0, LateResult::tool_result, DiscardReason::given_up);
  ends_.on_result(id, std::move(result));
  context_.end_activity(*node);
}

void ToolPort::on_ask(const tools::CallScope& call, Question question,
                      std::function<void(const Answer&)> closed) {
  if (Operation* const operation = context_.operations.find(call.operation)) {
    const AgentEntry entry(context_, *operation->node);
    desk_.on_ask(*operation, std::move(question), std::move(closed));
  } else {
    desk_.refuse(closed);
  }
}

// A loop that is late may read the timer before a result that has arrived in time. So the call times out
// after what was posted until now, and after a look at what has no stamp of its own, e.g. the end of a
// program.
void ToolPort::on_timeout(OperationId id, Duration timeout) {
  const Operation* operation = context_.operations.find(id);
  if (!operation || operation->over) return;
  const std::shared_ptr<core::CallBegin> begin = operation->call->begin;
  context_.engine.guarded("a tool's time-out", [&] { begin->look(); });
  operation = context_.operations.find(id);
  if (!operation || operation->over) return;
  expire_later(id, timeout);
}

// The agent's handle keeps this object. Without memory for it the call times out at once.
void ToolPort::expire_later(OperationId id, Duration timeout) {
  const Operation& operation = context_.operations[id];
  const bool posted = context_.engine.guarded("a tool's time-out", [&] {
    context_.engine.post([this, id, timeout, keep = context_.hub.handle(*operation.node)] {
      const Operation* const left = context_.operations.find(id);
      if (!left || left->over) return;
      // The result is posted just now.
      if (left->call->begin->has_result_in_time()) return expire_later(id, timeout);
      expire(id, timeout);
    });
  });
  if (!posted) expire(id, timeout);
}

// The stop token of the operation is triggered; its outcome is not needed any more.
void ToolPort::expire(OperationId id, Duration timeout) {
  Operation* const operation = context_.operations.find(id);
  if (!operation || operation->over) return;
  core::Node& node = *operation->node;
  const AgentEntry entry(context_, node);
  const bool has_begun = !operation->call->begin->withdraw();
  ToolResult result{.success = false};
  context_.engine.guarded("a tool's time-out", [&] {
    result.message =
        "timed out after " + text_of(timeout) + (has_begun ? "; its effect is unknown" : ", before it began");
  });
  ends_.on_timeout(id, result);
  context_.end_activity(node);
}

}  // namespace agentcore::detail::turn
