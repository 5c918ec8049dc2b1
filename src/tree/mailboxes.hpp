// Messages from the host to agents: functions that check them, and put them into the mailboxes of agents that
// accept them.
#pragma once

#include "tree/tree_shared.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::detail::tree {

// @threadsafe
SendResult send(TreeShared& tree, core::NodeId id, Message&& message,
                std::unique_ptr<SendOptions> options = {}) AGENTCORE_RUNS_HOST_CODE;
// Agent::simulate().
SendResult simulate(TreeShared& tree, core::NodeId id, std::string&& answer) AGENTCORE_RUNS_HOST_CODE;
// send() for a message of a running tool call of an ancestor (mailbox::Cell::is_delegated): a deferred stop
// of the ancestors does not refuse it, and no hold keeps its turn back. `begin`: of the call.
SendResult delegate(TreeShared& tree, core::NodeId id, Message&& message, SendOptions&& options,
                    std::shared_ptr<core::CallBegin> begin) AGENTCORE_RUNS_HOST_CODE;
SendResult steer(TreeShared& tree, core::NodeId id, Message&& message,
                 const SteerOptions& options) AGENTCORE_RUNS_HOST_CODE;
// The message, which waits, is dropped at that time.
void watch_deadline(TreeShared& tree, core::NodeId agent, MessageId id, TimePoint deadline) noexcept;
// How many messages wait. What a verb has dropped does not count, from its return on.
std::size_t queue_length(const TreeShared& tree, core::NodeId id) noexcept;

// @loop_thread, as all that follows
// The messages of these agents that wait, or whose turns are in progress, their places in the ready list,
// and what slots without an agent still hold (for leak tests).
std::size_t count_mail(const TreeShared& tree, const core::References& refers) noexcept;
// Drops all messages. Returns their number.
std::size_t drop_queue(TreeShared& tree, core::NodeId id) AGENTCORE_RUNS_HOST_CODE;
// The messages that wait.
std::vector<QueuedMessage> queued(TreeShared& tree, core::NodeId id);
Result<void> edit_queued(TreeShared& tree, core::NodeId agent, MessageId id, Message&& message);
Result<void> remove_queued(TreeShared& tree, core::NodeId agent, MessageId id) AGENTCORE_RUNS_HOST_CODE;

}  // namespace agentcore::detail::tree
