// Mailboxes: messages from the host to agents.
#pragma once

#include "mailbox/mailbox.hpp"
#include "tree/tree_shared.hpp"
#include "tree/verbs.hpp"

#include <agentcore/message.hpp>

#include <cstddef>
#include <optional>

namespace agentcore::detail::tree {

// Checks messages and puts them into the mailboxes of agents that accept them.
class Mailboxes {
 public:
  Mailboxes(TreeShared& tree, Verbs& verbs) : tree_(tree), verbs_(verbs) {}

  // @threadsafe
  SendResult send(core::NodeId id, Message&& message);
  std::size_t length(core::NodeId id) const noexcept;
  // Drops all messages. Returns their number. @loop_thread
  std::size_t clear(core::NodeId id);

 private:
  class Cell;

  std::optional<Errc> problem_of(const Message& message) const noexcept;
  SendResult push(core::Node& node, core::NodeId id, Cell& cell);
  Errc resume_or_refuse(const core::Node& node, core::NodeId id, AgentState effective);

  TreeShared& tree_;
  Verbs& verbs_;
};

}  // namespace agentcore::detail::tree
