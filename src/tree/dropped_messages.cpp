#include "tree/dropped_messages.hpp"

#include "events/message_listener.hpp"

#include <utility>

namespace agentcore::detail::tree {
namespace {

void report(events::EventHub& hub, const core::Node& node, mailbox::Cell& cell, DropReason reason) noexcept {
  const MessageId id = mailbox::MessagePool::id_in(cell);
  std::unique_ptr<SendOptions> options = cell.take_options();
  if (options) hub.guarded([&] { events::MessageListener::listen(hub, node.id(), id, 0, options); });
  const bool simulated = cell.is_simulated();
  hub.emit(node, [&](Agent agent) {
    return MessageDropped{std::move(agent), id, cell.take_message(), reason, simulated};
  });
  // Without memory nothing listens.
  if (options && !hub.closed())
    events::MessageListener::end(hub, *options, {.message = id, .dropped = reason});
}

}  // namespace

void report_dropped(events::EventHub& hub, const core::Node& node, const mailbox::DroppedMessages& dropped,
                    DropReason reason) noexcept {
  dropped.for_each([&](mailbox::Cell& cell) {
    if (!hub.closed()) report(hub, node, cell, reason);
  });
}

}  // namespace agentcore::detail::tree
