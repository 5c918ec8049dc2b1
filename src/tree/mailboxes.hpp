// Mailboxes: messages from the host to agents.
#pragma once

#include "events/event_hub.hpp"
#include "mailbox/mailbox.hpp"
#include "tree/resume.hpp"
#include "tree/tree_shared.hpp"
#include "turn/operations.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace agentcore::detail::tree {

// Checks messages and puts them into the mailboxes of agents that accept them.
class Mailboxes {
 public:
  Mailboxes(TreeShared& tree, turn::Operations& operations, events::EventHub& hub)
      : tree_(tree), operations_(operations), hub_(hub) {}

  // @threadsafe
  SendResult send(core::NodeId id, Message&& message, std::unique_ptr<SendOptions> options = {});
  // Agent::simulate().
  SendResult simulate(core::NodeId id, std::string&& answer);
  // send() for a message of a running tool call of an ancestor (mailbox::Cell::is_delegated): a deferred stop
  // of the ancestors does not refuse it, and no hold keeps its turn back. `begin`: of the call.
  SendResult delegate(core::NodeId id, Message&& message, SendOptions&& options,
                      std::shared_ptr<core::CallBegin> begin);
  SteerResult steer(core::NodeId id, Message&& message, const SteerOptions& options);
  // How many messages wait. What a verb has dropped does not count, from its return on.
  std::size_t length(core::NodeId id) const noexcept;
  // The messages of these agents that wait, or whose turns are in progress, their places in the ready list,
  // and what slots without an agent still hold (for leak tests). @loop_thread
  std::size_t count(const core::References& refers) const noexcept;
  // Drops all messages. Returns their number. @loop_thread
  std::size_t clear(core::NodeId id);
  // The messages that wait. @loop_thread
  std::vector<QueuedMessage> queued(core::NodeId id);
  ChangeResult edit_queued(core::NodeId agent, MessageId id, Message&& message);
  ChangeResult remove_queued(core::NodeId agent, MessageId id);
  // The message, which waits, is dropped at that time. @threadsafe
  void watch_deadline(core::NodeId agent, MessageId id, TimePoint deadline) noexcept;

 private:
  class Cell;
  enum class Origin : unsigned char { any, tool_call, simulated };

  SendResult send_from(Origin origin, core::NodeId id, Message&& message,
                       std::unique_ptr<SendOptions> options, std::shared_ptr<core::CallBegin> begin);
  std::optional<Errc> problem_of(const Message& message) const noexcept;
  SendResult push(Origin origin, core::Node& node, core::NodeId id, Cell& cell);
  SteerResult put_into_turn(core::Node& node, core::NodeId id, Cell& cell, const SteerOptions& options,
                            StopSource& cut);
  void start_timer(core::NodeId agent, MessageId id, TimePoint deadline);
  void on_deadline(core::NodeId agent, MessageId id) noexcept;
  void note_mail(core::NodeId id) noexcept;
  void drop(core::Node& node, const mailbox::DroppedMessages& dropped, DropReason reason);
  void remove(core::Node& node, std::uint32_t number, DropReason reason);
  Errc resume_or_refuse(const core::Node& node, core::NodeId id, AgentState effective, ResumedBy by);

  std::uint32_t find_queued(core::Node& node, core::NodeId agent, MessageId id) noexcept;
  template <typename Change>
  ChangeResult change_queued(core::NodeId agent, MessageId id, Change&& change);

  TreeShared& tree_;
  turn::Operations& operations_;
  events::EventHub& hub_;
};

}  // namespace agentcore::detail::tree
