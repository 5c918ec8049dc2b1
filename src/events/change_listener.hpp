// ChangeListener: is called for every change of a tree, for the store.
#pragma once

#include "core/node.hpp"

#include <agentcore/event.hpp>
#include <agentcore/message.hpp>

#include <string>

namespace agentcore::detail::events {

// Called before the observers, whether there are any or not. @loop_thread
class ChangeListener {
 public:
  // An event of that kind is being emitted about `node`.
  virtual void on_event(const core::Node& node, EventKinds kind) noexcept = 0;
  // The turn that began with `message` has ended. on_event() follows.
  virtual void on_turn_ended(const core::Node& node, MessageId message) noexcept = 0;
  // A turn of the agent was counted in its budgets, and in those above it.
  virtual void on_turn_counted(const core::Node& node) noexcept = 0;
  // The grants of the agent have changed.
  virtual void on_grants_changed(core::NodeId agent) noexcept = 0;
  // A tool call of the turn in progress is about to begin. True: the store has that it will. False: it will
  // have, and then the turn is continued; the call must not begin before.
  virtual bool may_begin(const core::Node& node, const std::string& call_id) noexcept = 0;

 protected:
  ~ChangeListener() = default;
};

}  // namespace agentcore::detail::events
