// StopsBelow: the operations of one stop of all descendants of an agent.
#pragma once

#include "tree/control_queue.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/verbs.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace agentcore::detail::tree {

// One operation for each child, made before any gate is closed. They have one log record, and one report: the
// reports of the children are joined on the loop thread, and the last of them calls the completion.
class StopsBelow {
 public:
  // For the agent `id`, which goes on. Takes the completion out of `options`. Throws std::bad_alloc.
  StopsBelow(TreeShared& tree, core::NodeId id, StopOptions& options, StopCause given,
             std::optional<TimePoint> escalate_at);

  // The children that the agent has now. Throws std::bad_alloc.
  void add_children(const core::Node& node);
  // The operations, with ControlOp::took_effect to be set.
  auto begin() noexcept { return Iterator{ops_.begin()}; }
  auto end() noexcept { return Iterator{ops_.end()}; }
  // Queues those that took effect; returns whether there are any.
  bool push_all() noexcept;

 private:
  void add(core::NodeId child);

  using Ops = std::vector<std::unique_ptr<ControlOp>>;
  struct Iterator {
    Ops::iterator at;
    ControlOp& operator*() const noexcept { return **at; }
    Iterator& operator++() noexcept {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return at != other.at; }
  };
  // The report of all.
  struct Joined {
    StopReport report;
    std::size_t left = 0;  // children whose reports are to come
    std::function<void(const StopReport&)> on_settled;
  };
  static void join(Joined& joined, const StopReport& child);

  TreeShared& tree_;
  const core::NodeId id_;
  const StopOptions& options_;
  const StopCause given_;  // ControlOp::given_cause
  const std::optional<TimePoint> escalate_at_;
  StopOrigin origin_;
  std::shared_ptr<Joined> joined_;  // null: no report was requested
  Ops ops_;
};

}  // namespace agentcore::detail::tree
