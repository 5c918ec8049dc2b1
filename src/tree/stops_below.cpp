#include "tree/stops_below.hpp"

#include "tree/settle_reports.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace agentcore::detail::tree {

StopsBelow::StopsBelow(TreeShared& tree, core::NodeId id, StopOptions& options, StopCause given,
                       std::optional<TimePoint> escalate_at)
    : tree_(tree),
      id_(id),
      options_(options),
      given_(given),
      escalate_at_(escalate_at),
      origin_(options.caller, options.reason) {
  if (!options.on_settled) return;
  joined_ = std::make_shared<Joined>();
  StopReport& report = joined_->report;
  const core::Node* const node = tree.resolve(id);
  if (node && !node->is_root_sentinel()) report.agent_id = tree.table.names().name_of(*node, id);
  report.cause = options.cause;
  report.caller = options.caller;
  report.reason = options.reason;
  joined_->on_settled = options.on_settled;
}

// The links between agents belong to the loop thread: other threads find the children by their parent.
void StopsBelow::add_children(const core::Node& node) {
  core::AgentTable& table = tree_.table;
  if (tree_.engine->on_loop_thread()) {
    for (const core::Node* child = table.first_child(node); child; child = table.next_sibling(*child))
      add(child->id());
    return;
  }
  for (std::uint32_t index = 1; index < table.slots(); ++index) {
    const core::Node& child = table.slot(index);
    const core::PackedState packed = child.load();
    // Its parent is read once more by the look at its gates, which compares the generation afterwards.
    if (!packed.is_free() && child.parent.load(std::memory_order_acquire) == &node &&
        child.load().generation() == packed.generation())
      add(core::make_id(index, packed.generation()));
  }
}

void StopsBelow::add(core::NodeId child) {
  auto op = std::make_unique<ControlOp>();
  op->agent = child;
  op->below = id_;
  op->cause = options_.cause;
  op->given_cause = given_;
  op->origin = origin_;
  op->grace = options_.grace;
  op->when = options_.when;
  op->escalate_at = escalate_at_;
  note_call(tree_, *op, options_.when);
  if (op->audit) {
    const core::Node* const above = tree_.resolve(id_);
    if (above && !above->is_root_sentinel()) op->audit->below = tree_.table.names().name_of(*above, id_);
  }
  if (op->collects() || joined_) {
    const core::Node* const node = tree_.resolve(child);
    if (node) op->agent_name = tree_.table.names().name_of(*node, child);
  }
  if (joined_) op->on_stopped = [joined = joined_](const StopReport& report) { join(*joined, report); };
  ops_.push_back(std::move(op));
}

bool StopsBelow::push_all() noexcept {
  std::erase_if(ops_, [](const auto& op) { return !op->took_effect; });
  if (ops_.empty()) return false;
  if (joined_) joined_->left = ops_.size();  // before the loop can see any of them
  ops_.front()->logs = true;
  for (auto& op : ops_) tree_.control.push(std::move(op));
  ops_.clear();
  return true;
}

// Without memory, names are missing in the report.
void StopsBelow::join(Joined& joined, const StopReport& child) {
  StopReport& all = joined.report;
  all.messages_dropped += child.messages_dropped;
  try {
    const auto append = [](auto& to, const auto& from, std::size_t most) {
      to.insert(to.end(), from.begin(),
                from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size())));
    };
    append(all.cascade_stopped, child.cascade_stopped, child.cascade_stopped.size());
    all.cascade_stopped.push_back(child.agent_id);
    append(all.abandoned, child.abandoned, child.abandoned.size());
    append(all.dropped_messages, child.dropped_messages,
           SettleReports::most_ids - all.dropped_messages.size());
  } catch (const std::bad_alloc&) {
  }
  if (--joined.left == 0) joined.on_settled(all);
}

}  // namespace agentcore::detail::tree
