#include "tree/rest_watches.hpp"

#include "core/gates.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

void RestWatches::add(core::NodeId root, Cause cause) {
  remove(root, cause);
  watches_.push_back({root, cause, false, {}});
  count_again();
}

void RestWatches::remove(core::NodeId root, Cause cause) noexcept {
  std::erase_if(watches_, [&](const Watch& watch) { return watch.root == root && watch.cause == cause; });
}

void RestWatches::forget_deleted() noexcept {
  std::erase_if(watches_, [this](const Watch& watch) { return !agents_.find(watch.root); });
  for (Watch& watch : watches_) {
    const bool waited = watch.counted && !watch.busy.empty();
    std::erase_if(watch.busy, [this](core::NodeId agent) { return !agents_.find(agent); });
    if (!waited || !watch.busy.empty()) continue;
    watch.counted = false;
    count_again();
  }
}

void RestWatches::check(const Node& node) noexcept {
  for (Watch& watch : watches_) {
    if (!watch.counted || !is_at_rest(watch, node)) continue;
    if (watch.busy.erase(node.id()) == 0 || !watch.busy.empty()) continue;
    watch.counted = false;
    count_again();
  }
}

// A pass counts for all watches that have not counted yet.
void RestWatches::count_again() noexcept {
  for (Watch& watch : watches_)
    if (!watch.counted) watch.busy.clear();
  pass_.restart();
}

Progress RestWatches::run(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone) {
  if (!pass_.is_active()) return Progress::done;
  try {
    const Progress counted = pass_.run(
        budget, [this] { return agents_.slots(); }, is_tree_gone,
        [this](auto slot) { count_agent(agents_.slot(slot)); });
    if (counted != Progress::done) return counted;
  } catch (...) {  // an allocation failed
    count_again();
    throw;
  }
  for (Watch& watch : watches_) watch.counted = true;
  for (;;) {
    const auto found =
        std::find_if(watches_.begin(), watches_.end(), [](const Watch& watch) { return watch.busy.empty(); });
    if (found == watches_.end()) return Progress::done;
    const core::NodeId root = found->root;
    const Cause cause = found->cause;
    watches_.erase(found);
    at_rest_(root, cause);
    if (is_tree_gone()) return Progress::tree_gone;
    if (pass_.is_active()) return Progress::more;  // a new watch
  }
}

void RestWatches::count_agent(const Node& node) {
  if (node.load().is_free()) return;
  for (Watch& watch : watches_) {
    const Node* const root = watch.counted ? nullptr : agents_.find(watch.root);
    if (root && covers(watch, *root, node) && !is_at_rest(watch, node)) watch.busy.insert(node.id());
  }
}

// A deferred stop may be one of the agent alone.
bool RestWatches::covers(const Watch& watch, const Node& root, const Node& node) noexcept {
  if (watch.cause == Cause::stop && !root.extends_below(Node::grade_below)) return &node == &root;
  return core::is_within(&node, &root);
}

// A deferred stop waits until the turns are over, or parked at the next step.
bool RestWatches::is_at_rest(const Watch& watch, const Node& node) const noexcept {
  if (watch.cause == Cause::pause) return turns_.parked().is_at_rest(node, turn::Rest::paused);
  const Node* const root = agents_.find(watch.root);
  const bool steps = root && root->load().stop_grade() == core::Grade::after_step;
  return turns_.parked().is_at_rest(node, steps ? turn::Rest::after_step : turn::Rest::after_turn);
}

std::size_t RestWatches::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const Watch& watch : watches_) {
    count += refers(watch.root);
    for (const core::NodeId agent : watch.busy) count += refers(agent);
  }
  return count;
}

void RestWatches::clear() noexcept {
  watches_.clear();
  pass_.cancel();
}

}  // namespace agentcore::detail::tree
