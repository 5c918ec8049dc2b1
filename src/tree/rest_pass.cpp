#include "tree/rest_pass.hpp"

#include "core/gates.hpp"

#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

// A deferred stop may be one of the agent alone.
bool covers(const SettleJob& job, const Node& node) noexcept {
  return job.is_pause() || core::grade_for(node, *job.root, job.root->load()) != core::Grade::none;
}

}  // namespace

void RestPass::begin(SettleJob& job) noexcept {
  jobs_.for_each_of(job.root->id(), [&](SettleJob& other) {
    if (other.phase < Phase::resting && other.is_pause() == job.is_pause()) jobs_.move(other, Phase::noted);
  });
  jobs_.move(job, Phase::uncounted);
}

void RestPass::expire(SettleJob& job) noexcept {
  job.members.clear();
  job.running = 0;
  jobs_.move(job, Phase::resting);
}

void RestPass::check_above(const Node& node) noexcept {
  for_each_above(node, [&](SettleJob& job) {
    const auto member = job.members.find(node.id());
    if (member == job.members.end()) return;
    const bool is_over = !has_activity(node);
    update(job, member, is_over || is_at_rest(job, node));
    if (is_over) job.members.erase(member);
    sort(job);
  });
}

SettleJob* RestPass::next(loop::PollBudget& budget) {
  while (has_work()) {
    while (SettleJob* const job = jobs_.first(Phase::resting)) {
      if (!verify(*job, budget) || !budget.spend()) return nullptr;
      if (job->phase == Phase::resting) return job;
    }
    if (!count_all(budget)) return nullptr;
  }
  return nullptr;
}

// A pass counts for the jobs that were added before it began. False: the budget is used up.
bool RestPass::count_all(loop::PollBudget& budget) {
  if (budget.exhausted()) return false;  // more jobs may be added before a pass begins
  if (!jobs_.first(Phase::counting)) begin_pass();
  try {
    const Progress counted = pass_.run(
        budget, [this] { return agents_.slots(); }, [] { return false; },
        [this](auto slot) { count_agent(agents_.slot(slot)); });
    if (counted != Progress::done) return false;
  } catch (...) {  // an allocation failed
    while (SettleJob* const job = jobs_.first(Phase::counting)) jobs_.move(*job, Phase::uncounted);
    throw;
  }
  while (SettleJob* const job = jobs_.first(Phase::counting)) {
    if (!budget.spend()) return false;
    jobs_.move(*job, Phase::watching);
    sort(*job);
  }
  return true;
}

void RestPass::begin_pass() noexcept {
  jobs_.first(Phase::uncounted) ? pass_.restart() : pass_.cancel();
  while (SettleJob* const job = jobs_.first(Phase::uncounted)) {
    job->members.clear();
    job->running = 0;
    jobs_.move(*job, Phase::counting);
  }
}

void RestPass::count_agent(const Node& node) {
  if (node.load().is_free() || !has_activity(node)) return;
  for_each_above(node, [&](SettleJob& job) {
    if (job.phase != Phase::counting || !covers(job, node)) return;
    const bool rests = is_at_rest(job, node);
    if (job.members.emplace(node.id(), rests).second && !rests) ++job.running;
  });
}

// False: the budget is used up.
bool RestPass::verify(SettleJob& job, loop::PollBudget& budget) noexcept {
  for (auto member = job.members.upper_bound(job.verified); member != job.members.end(); ++member) {
    if (!budget.spend()) return false;
    const Node* const node = agents_.find(member->first);
    update(job, member, !node || !has_activity(*node) || is_at_rest(job, *node));
    job.verified = member->first;
    if (job.running == 0) continue;
    sort(job);
    break;
  }
  return true;
}

// Calls visit(job) for the pending jobs of the agent and of its ancestors.
template <typename Visit>
void RestPass::for_each_above(const Node& node, Visit&& visit) {
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    if (!up->settling.is_job_root) continue;
    jobs_.for_each_of(up->id(), [&](SettleJob& job) {
      if (job.is_pending()) visit(job);
    });
  }
}

bool RestPass::has_activity(const Node& node) const noexcept {
  return !turns_.parked().is_at_rest(node, turn::Rest::after_turn);
}

// A deferred stop waits until the turns are over, or parked at the next step.
bool RestPass::is_at_rest(const SettleJob& job, const Node& node) const noexcept {
  if (job.is_pause()) return turns_.parked().is_at_rest(node, turn::Rest::paused);
  const bool steps = core::grade_for(node, *job.root, job.root->load()) == core::Grade::after_step;
  return turns_.parked().is_at_rest(node, steps ? turn::Rest::after_step : turn::Rest::after_turn);
}

void RestPass::update(SettleJob& job, Members::iterator member, bool rests) noexcept {
  if (std::exchange(member->second, rests) == rests) return;
  rests ? --job.running : ++job.running;
}

// Moves a job that has counted to the phase that its members demand.
void RestPass::sort(SettleJob& job) noexcept {
  if (job.phase == Phase::watching && job.running == 0) {
    job.verified = 0;
    jobs_.move(job, Phase::resting);
  } else if (job.phase == Phase::resting && job.running != 0) {
    jobs_.move(job, Phase::watching);
  }
}

}  // namespace agentcore::detail::tree
