#include "tools/agent_call.hpp"

#include "core/text_hash.hpp"
#include "tools/agent_result.hpp"
#include "tools/call_scope.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::tools {
namespace {

// For the log and the events of the child.
std::string reason_of_end() noexcept {
  try {
    return "its tool call has ended";
  } catch (const std::bad_alloc&) {
    return {};
  }
}

void remove(const Agent& child) noexcept {
  TerminateOptions options;
  options.reason = reason_of_end();
  static_cast<void>(child.terminate(std::move(options)));
}

std::vector<std::string>* children_of(const ToolContext& context) {
  const CallScope& scope = ContextAccess::scope(context);
  return scope.owner->tool_children(scope);
}

Result<Agent> create(const ToolContext& context, const AgentSpec& spec) {
  Result<Agent> created = context.create_child(context.agent(), spec);
  if (created) return created;
  return Error{created.error().code, "the agent could not be created: " + created.error().message};
}

// A child that agent tools of the agent work with. A hash of its name stays when it is deleted, so that no
// call creates it again; the name itself is gone with it (G13).
class ChildName {
 public:
  // Throws std::bad_alloc.
  ChildName(const ToolContext& context, const std::string& name)
      : context_(context), key_(core::hashed_name("", name)) {
    std::vector<std::string>* const all = children_of(context);
    if (all == nullptr) return;
    is_known_ = std::find(all->begin(), all->end(), key_) != all->end();
    if (!is_known_) all->push_back(key_);
  }
  bool is_known() const noexcept { return is_known_; }
  // There is no such child.
  void forget() const {
    if (std::vector<std::string>* const all = children_of(context_); all != nullptr && !is_known_)
      std::erase(*all, key_);
  }

 private:
  const ToolContext& context_;
  const std::string key_;
  bool is_known_ = false;
};

// Error: why there is no child for the call.
Result<Agent> find_or_create(const ToolContext& context, const AgentSpec& spec, bool create_again) {
  if (spec.id.empty()) return create(context, spec);
  const ChildName name(context, spec.id);
  const Result<std::vector<Agent>> children = context.agent().children();
  for (const Agent& child : children.value_or(std::vector<Agent>()))
    if (child.id() == spec.id) return child;
  if (name.is_known() && !create_again)
    return Error{Errc::agent_not_found,
                 "the agent '" + display(spec.id) + "' was deleted, and is not created again"};
  Result<Agent> created = create(context, spec);
  if (!created) name.forget();
  return created;
}

}  // namespace

void AgentCall::start(const ToolContext& context, const ToolDone& done, const AgentSpec& child,
                      bool create_again, std::string text) {
  const Child kind = child.id.empty() ? Child::own : Child::named;
  // The call begins when the child begins its turn. Its time-out runs from now on: it limits the wait, too.
  ContextAccess::scope(context).begin->hand_over(context.stop());
  // All allocations that may fail come before the child is created.
  const std::shared_ptr<AgentCall> call(new AgentCall(context, done, kind));
  Message message{.text = std::move(text), .sender = context.agent().id()};
  SendOptions options{.on_delta = [call](std::string_view piece) { call->on_delta(piece); },
                      .on_end = [call](const MessageEnd& end) { call->on_end(end); },
                      .deadline = context.deadline()};
  Result<Agent> found = find_or_create(context, child, create_again);
  if (!found) return done(ToolResult::failed(found.error().message));
  call->child_ = *std::move(found);
  call->send(std::move(message), std::move(options));
}

// An observer of AgentCreated may have ended the call, or the child, or the tree.
void AgentCall::send(Message message, SendOptions options) {
  const CallScope& scope = ContextAccess::scope(context_);
  const SendResult sent =
      scope.owner->delegate(scope, child_, kind_ == Child::own, std::move(message), std::move(options));
  if (!sent) {
    if (kind_ == Child::own) remove(child_);
    return done_(refused_by_agent(sent.reason));
  }
  message_ = sent.id;
  on_stop_.emplace(context_.stop(), EndChild{child_, message_, kind_});
  report_pause();
}

// The message was sent: a lack of memory for the report does not fail the call.
void AgentCall::report_pause() noexcept {
  try {
    if (const auto status = child_.status(); status && status->paused)
      context_.progress("the agent '" + child_.id() + "' is paused; the call waits until it is unpaused");
  } catch (const std::bad_alloc&) {
    return;
  }
}

void AgentCall::EndChild::operator()() const noexcept {
  const EndChild self = *this;  // the call may be destroyed meanwhile
  if (self.kind == Child::own) return remove(self.child);
  InterruptOptions options;
  options.message = self.message;
  options.reason = reason_of_end();
  static_cast<void>(self.child.interrupt(std::move(options)));
}

void AgentCall::on_delta(std::string_view text) {
  if (!context_.stop().stop_requested()) return context_.progress(std::string(text));
  EndChild{child_, message_, kind_}();  // there was no memory for it when the call ended
}

void AgentCall::on_end(const MessageEnd& end) {
  done_(result_of(end, child_));
  // The deadline of the message is also the time-out of the call, which then ends it.
  const CallScope& scope = ContextAccess::scope(context_);
  if (scope.begin->ends_at() <= scope.engine->now()) scope.begin->set_result(TimePoint::max());
  if (kind_ == Child::own) remove(child_);
}

}  // namespace agentcore::detail::tools
