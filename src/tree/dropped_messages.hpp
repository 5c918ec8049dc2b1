// report_dropped: reports to observers and senders that messages were dropped.
#pragma once

#include "core/mutex.hpp"
#include "core/node.hpp"
#include "events/event_hub.hpp"
#include "mailbox/message_pool.hpp"

namespace agentcore::detail::tree {

// Emits MessageDropped for each message, oldest first, and ends its callbacks. A callback may destroy the
// tree: check hub.closed() afterwards. @loop_thread
void report_dropped(events::EventHub& hub, const core::Node& node, const mailbox::DroppedMessages& dropped,
                    DropReason reason) noexcept AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
