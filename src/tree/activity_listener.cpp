#include "tree/activity_listener.hpp"

#include "tree/mailboxes.hpp"
#include "tree/stop.hpp"

#include <utility>

namespace agentcore::detail::tree {

using core::Node;

void ActivityListener::on_activity_ended(Node& node) noexcept {
  if (hub_.closed()) return;
  const LoopEntry entry(tree_.lifetime);
  settler_.check_rest(node);
  settler_.on_operation_ended(node);
  if (!hub_.closed()) scheduler_.schedule(node);
}

void ActivityListener::on_waiting(Node& node) noexcept {
  const LoopEntry entry(tree_.lifetime);
  settler_.check_rest(node);
}

void ActivityListener::on_turn_over(Node& node) noexcept {
  scheduler_.end_message(node);
}

// The second half of this stop is queued for the loop like that of any other.
void ActivityListener::on_budget_exhausted(Node& node, std::string reason) {
  StopOptions options;
  options.cause = StopCause::budget;
  options.reason = std::move(reason);
  tree_.engine->guarded("a log record", [&] {
    hub_.porch.log(LogLevel::info, "a budget is used up",
                   {{"agent", tree_.table.names().name_of(node, node.id())}, {"reason", options.reason}});
  });
  static_cast<void>(stop(tree_, node.id(), std::move(options)));
}

SendResult ActivityListener::on_delegated(core::NodeId to, Message message, SendOptions options,
                                          std::shared_ptr<core::CallBegin> begin) {
  return delegate(tree_, to, std::move(message), std::move(options), std::move(begin));
}

}  // namespace agentcore::detail::tree
