#include "tree/rest_watches.hpp"

#include "core/gates.hpp"

#include <iterator>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

// A deferred stop may be one of the agent alone.
bool covers(const Node& root, bool stops, const Node& node) noexcept {
  return !stops || core::grade_for(node, root, root.load()) != core::Grade::none;
}

}  // namespace

void RestWatches::add(core::NodeId root, Cause cause) {
  List added(1);
  added.front().root = root;
  added.front().cause = cause;
  const auto [place, is_new] = index(cause).try_emplace(root, added.begin());
  if (!is_new) {
    const List::iterator former = std::exchange(place->second, added.begin());
    list(former->stage).erase(former);
  }
  list(Stage::queued).splice(list(Stage::queued).end(), added);
}

void RestWatches::remove(core::NodeId root, Cause cause) noexcept {
  const auto found = index(cause).find(root);
  if (found == index(cause).end()) return;
  list(found->second->stage).erase(found->second);
  index(cause).erase(found);
}

void RestWatches::forget_deleted() noexcept {
  for (List& watches : lists_) {
    for (auto at = watches.begin(); at != watches.end();) {
      Watch& watch = *at++;
      if (!agents_.find(watch.root)) {
        remove(watch.root, watch.cause);
        continue;
      }
      for (auto member = watch.members.begin(); member != watch.members.end();) {
        const auto next = std::next(member);
        if (!agents_.find(member->first)) {
          update(watch, member, true);
          watch.members.erase(member);
        }
        member = next;
      }
      sort(watch);
    }
  }
}

void RestWatches::check(const Node& node) noexcept {
  for_each_above(node, [&](Watch& watch, const Node&) {
    const auto member = watch.members.find(node.id());
    if (member == watch.members.end()) return;
    const bool is_over = !has_activity(node);
    update(watch, member, is_over || is_at_rest(watch, node));
    if (is_over) watch.members.erase(member);
    sort(watch);
  });
}

Progress RestWatches::run(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone) {
  while (has_work()) {
    if (const Progress reported = report_all(budget, is_tree_gone); reported != Progress::done)
      return reported;
    if (const Progress counted = count_all(budget, is_tree_gone); counted != Progress::done) return counted;
  }
  return Progress::done;
}

// A pass counts for the watches that were added before it began.
Progress RestWatches::count_all(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone) {
  if (budget.exhausted()) return Progress::more;  // more watches may be added before a pass begins
  if (list(Stage::counting).empty()) begin_pass();
  try {
    const Progress counted = pass_.run(
        budget, [this] { return agents_.slots(); }, is_tree_gone,
        [this](auto slot) { count_agent(agents_.slot(slot)); });
    if (counted != Progress::done) return counted;
  } catch (...) {  // an allocation failed
    list(Stage::queued).splice(list(Stage::queued).begin(), list(Stage::counting));
    for (Watch& watch : list(Stage::queued)) watch.stage = Stage::queued;
    throw;
  }
  while (!list(Stage::counting).empty()) {
    if (!budget.spend()) return Progress::more;
    Watch& watch = list(Stage::counting).front();
    move(watch, Stage::watching);
    sort(watch);
  }
  return Progress::done;
}

void RestWatches::begin_pass() noexcept {
  List& counting = list(Stage::counting);
  counting.splice(counting.end(), list(Stage::queued));
  for (Watch& watch : counting) {
    watch.stage = Stage::counting;
    watch.members.clear();
    watch.running = 0;
  }
  counting.empty() ? pass_.cancel() : pass_.restart();
}

void RestWatches::count_agent(const Node& node) {
  if (node.load().is_free() || !has_activity(node)) return;
  for_each_above(node, [&](Watch& watch, const Node& root) {
    if (watch.stage != Stage::counting || !covers(root, watch.cause == Cause::stop, node)) return;
    const bool rests = is_at_rest(watch, node);
    if (watch.members.emplace(node.id(), rests).second && !rests) ++watch.running;
  });
}

Progress RestWatches::report_all(loop::PollBudget& budget, const std::function<bool()>& is_tree_gone) {
  while (!list(Stage::resting).empty()) {
    Watch& watch = list(Stage::resting).front();
    if (verify(watch, budget) != Progress::done || !budget.spend()) return Progress::more;
    if (watch.stage != Stage::resting) continue;
    const core::NodeId root = watch.root;
    const Cause cause = watch.cause;
    remove(root, cause);
    at_rest_(root, cause);
    if (is_tree_gone()) return Progress::tree_gone;
  }
  return Progress::done;
}

Progress RestWatches::verify(Watch& watch, loop::PollBudget& budget) noexcept {
  for (auto member = watch.members.upper_bound(watch.verified); member != watch.members.end(); ++member) {
    if (!budget.spend()) return Progress::more;
    const Node* const node = agents_.find(member->first);
    update(watch, member, !node || !has_activity(*node) || is_at_rest(watch, *node));
    watch.verified = member->first;
    if (watch.running == 0) continue;
    sort(watch);
    break;
  }
  return Progress::done;
}

// Calls visit(watch, root) for the watches of the agent and of its ancestors.
template <typename Visit>
void RestWatches::for_each_above(const Node& node, Visit&& visit) {
  for (Index& watches : indices_) {
    if (watches.empty()) continue;
    for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed))
      if (const auto found = watches.find(up->id()); found != watches.end()) visit(*found->second, *up);
  }
}

bool RestWatches::has_activity(const Node& node) const noexcept {
  return !turns_.parked().is_at_rest(node, turn::Rest::after_turn);
}

// A deferred stop waits until the turns are over, or parked at the next step.
bool RestWatches::is_at_rest(const Watch& watch, const Node& node) const noexcept {
  if (watch.cause == Cause::pause) return turns_.parked().is_at_rest(node, turn::Rest::paused);
  const Node* const root = agents_.find(watch.root);
  const bool steps = root && core::grade_for(node, *root, root->load()) == core::Grade::after_step;
  return turns_.parked().is_at_rest(node, steps ? turn::Rest::after_step : turn::Rest::after_turn);
}

void RestWatches::update(Watch& watch, std::map<core::NodeId, bool>::iterator member, bool rests) noexcept {
  if (std::exchange(member->second, rests) == rests) return;
  rests ? --watch.running : ++watch.running;
}

// Moves a watch that has counted to the stage that its members demand.
void RestWatches::sort(Watch& watch) noexcept {
  if (watch.stage == Stage::watching && watch.running == 0) {
    watch.verified = 0;
    move(watch, Stage::resting);
  } else if (watch.stage == Stage::resting && watch.running != 0) {
    move(watch, Stage::watching);
  }
}

void RestWatches::move(Watch& watch, Stage stage) noexcept {
  const List::iterator at = index(watch.cause).find(watch.root)->second;
  list(stage).splice(list(stage).end(), list(watch.stage), at);
  watch.stage = stage;
}

std::size_t RestWatches::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const List& watches : lists_) {
    for (const Watch& watch : watches) {
      count += refers(watch.root);
      for (const auto& [agent, rests] : watch.members) count += refers(agent);
    }
  }
  return count;
}

void RestWatches::clear() noexcept {
  for (List& watches : lists_) watches.clear();
  for (Index& watches : indices_) watches.clear();
  pass_.cancel();
}

}  // namespace agentcore::detail::tree
