// ActivityListener: what the tree does when something of a turn has ended. @loop_thread
#pragma once

#include "events/event_hub.hpp"
#include "tree/scheduler.hpp"
#include "tree/settler.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turn_context.hpp"

#include <string>

namespace agentcore::detail::tree {

// Passes the notifications of the turn engine to the parts of the tree.
class ActivityListener final : public turn::TurnListener {
 public:
  ActivityListener(TreeShared& tree, events::EventHub& hub, Settler& settler, Scheduler& scheduler)
      : tree_(tree), hub_(hub), settler_(settler), scheduler_(scheduler) {}

  void on_activity_ended(core::Node& node) noexcept override;
  void on_waiting(core::Node& node) noexcept override;
  void on_turn_over(core::Node& node) noexcept override;
  void on_budget_exhausted(core::Node& node, std::string reason) override;
  SendResult on_delegated(core::NodeId to, Message message, SendOptions options,
                          std::shared_ptr<core::CallBegin> begin) override;

 private:
  TreeShared& tree_;
  events::EventHub& hub_;
  Settler& settler_;
  Scheduler& scheduler_;
};

}  // namespace agentcore::detail::tree
