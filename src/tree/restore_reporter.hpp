// RestoreReporter: reports what AgentTree::restore() has found.
#pragma once

#include "events/event_hub.hpp"
#include "tree/scheduler.hpp"
#include "tree/stored_tree.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/restore.hpp>

#include <string>
#include <vector>

namespace agentcore::detail::tree {

// All agents exist. @loop_thread
class RestoreReporter {
 public:
  RestoreReporter(TreeShared& tree, turn::Turns& turns, Scheduler& scheduler, events::EventHub& hub)
      : tree_(tree), turns_(turns), scheduler_(scheduler), hub_(hub) {}

  // Throws std::bad_alloc.
  RestoreReport report_of(const StoredTree& stored) const;
  // Emits the events of each agent, then continues the turns that go on: both may run code of the host, which
  // may delete agents and destroy the tree. The tree has its store by now.
  void emit(const StoredTree& stored);

 private:
  void emit(core::Node& node, const StoredAgentOfTree& agent);
  void ask_again(const StoredTree& stored);
  void ask_again(core::Node& node, const StoredAgentOfTree& agent) noexcept;
  void drop(const StoredAgentOfTree& agent, const std::vector<persist::MailRecord>& messages,
            DropReason reason);
  bool is_gone(const StoredAgentOfTree& agent) const noexcept;
  std::string id_of(const StoredAgentOfTree& agent) const;

  TreeShared& tree_;
  turn::Turns& turns_;
  Scheduler& scheduler_;
  events::EventHub& hub_;
};

}  // namespace agentcore::detail::tree
