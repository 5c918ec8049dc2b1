#include "tree/settle_jobs.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tree {
namespace {

// `node` is in the subtree of the root of `job`. True if the job is one of that verb and includes the agent.
bool concerns(const SettleJob& job, const core::Node& node, Verb verb) noexcept {
  return !job.is_pending() && job.op->closes() && job.op->verb == verb &&
         (job.root == &node || job.op->cascade);
}

// A greater one hardens first.
std::pair<int, std::uint64_t> strength(const SettleJob& job) noexcept {
  const ControlOp& op = *job.op;
  return {(op.took_effect ? 4 : 0) + (op.verb == Verb::terminate ? 2 : 0) + (op.cascade ? 1 : 0), job.number};
}

}  // namespace

std::size_t SettleJobs::index(Phase phase) noexcept {
  const bool walks = phase == Phase::settling || phase == Phase::resuming;
  return static_cast<std::size_t>(walks ? Phase::marking : phase);
}

SettleJobs::Draft SettleJobs::draft(core::NodeId root) {
  Draft draft;
  SettleJob& job = *draft.entry_.emplace(root, std::make_unique<SettleJob>())->second;
  draft.listed_.push_back(&job);
  // So that insert() does not rehash, which would allocate.
  const auto room =
      static_cast<std::size_t>(jobs_.max_load_factor() * static_cast<float>(jobs_.bucket_count()));
  if (jobs_.size() >= room) jobs_.reserve(2 * (jobs_.size() + 1));
  return draft;
}

void SettleJobs::insert(Draft& draft, core::Node& root) noexcept {
  SettleJob& job = draft.job();
  job.root = &root;
  job.cursor = &root;
  job.number = next_number_++;
  job.place = draft.listed_.begin();
  list(job.phase).splice(list(job.phase).end(), draft.listed_);
  ++pending_;
  root.settling.is_job_root = true;
  jobs_.insert(draft.entry_.extract(draft.entry_.begin()));
}

void SettleJobs::add_pending(Draft& draft, core::Node& root) noexcept {
  insert(draft, root);
}

void SettleJobs::add(Draft& draft, core::Node& root) noexcept {
  SettleJob& job = draft.job();
  insert(draft, root);
  harden(job);
}

void SettleJobs::harden(SettleJob& job) noexcept {
  const bool resumes = job.op->verb == Verb::resume;
  --pending_;
  job.members.clear();
  job.number = next_number_++;
  if (job.op->collects()) ++reports_wanted_;
  if (job.op->took_effect && resumes) ++resumes_;
  move(job, !job.op->took_effect ? Phase::waiting : resumes ? Phase::resuming : Phase::marking);
}

void SettleJobs::move(SettleJob& job, Phase to) noexcept {
  list(to).splice(list(to).end(), list(job.phase), job.place);
  job.phase = to;
}

void SettleJobs::begin_hardening(core::NodeId root) noexcept {
  for_each_of(root, [this](SettleJob& job) {
    if (job.is_pending() && !job.is_pause()) move(job, Phase::hardening);
  });
  list(Phase::hardening).sort([](const SettleJob* a, const SettleJob* b) {
    return strength(*a) > strength(*b);
  });
}

void SettleJobs::end_walk(SettleJob& job) noexcept {
  if (job.is_pending() || job.phase == Phase::waiting) return;
  if (job.phase == Phase::resuming) --resumes_;
  move(job, Phase::waiting);
}

// Resets the state that refers to a job before the job is destroyed.
void SettleJobs::forget(SettleJob& job) noexcept {
  end_walk(job);
  list(job.phase).erase(job.place);
  if (job.is_pending())
    --pending_;
  else if (job.op->collects())
    --reports_wanted_;
}

void SettleJobs::remove(SettleJob& job) noexcept {
  forget(job);
  core::Node& root = *job.root;
  const core::NodeId id = root.id();
  const auto [begin, end] = jobs_.equal_range(id);
  jobs_.erase(std::find_if(begin, end, [&job](const auto& entry) { return entry.second.get() == &job; }));
  root.settling.is_job_root = jobs_.contains(id);
}

template <typename Ends>
std::unique_ptr<SettleJob> SettleJobs::take(core::NodeId root, Ends&& ends) noexcept {
  std::unique_ptr<SettleJob> first;
  SettleJob* last = nullptr;
  for (auto [it, end] = jobs_.equal_range(root); it != end;) {
    if (!ends(*it->second)) {
      ++it;
      continue;
    }
    std::unique_ptr<SettleJob> job = std::move(it->second);
    it = jobs_.erase(it);
    forget(*job);
    std::unique_ptr<SettleJob>* place = &first;
    if (last && last->number < job->number) place = &last->next;
    while (*place && (*place)->number < job->number) place = &(*place)->next;
    if (!*place) last = job.get();
    job->next = std::exchange(*place, nullptr);
    *place = std::move(job);
  }
  if (core::Node* const node = agents_.find(root)) node->settling.is_job_root = jobs_.contains(root);
  return first;
}

std::unique_ptr<SettleJob> SettleJobs::take_done(core::NodeId root) noexcept {
  const bool all = !agents_.find(root);
  return take(
      root, [all](const SettleJob& job) { return all || (job.op->verb == Verb::stop && !job.is_pending()); });
}

std::unique_ptr<SettleJob> SettleJobs::take_pending(core::NodeId root, bool pauses) noexcept {
  return take(root, [pauses](const SettleJob& job) { return job.is_pending() && job.is_pause() == pauses; });
}

bool SettleJobs::has_pending_stop(core::NodeId root) const noexcept {
  const auto [begin, end] = jobs_.equal_range(root);
  return std::any_of(
      begin, end, [](const auto& entry) { return entry.second->is_pending() && !entry.second->is_pause(); });
}

bool SettleJobs::is_settling(core::NodeId root) const noexcept {
  const auto [begin, end] = jobs_.equal_range(root);
  return std::any_of(begin, end, [](const auto& entry) { return !entry.second->is_pending(); });
}

events::Why SettleJobs::why(const core::Node& node, AgentState to, const SettleJob* walk) const noexcept {
  const Verb verb = to == AgentState::terminating ? Verb::terminate : Verb::stop;
  if (walk && size() == 1) {  // there is no other job that could concern the agent
    if (concerns(*walk, node, verb)) return walk->why(node);
    return {node.settling.cause, {}};
  }
  for (const core::Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    if (!up->settling.is_job_root) continue;
    const SettleJob* newest = nullptr;
    for (auto [it, end] = jobs_.equal_range(up->id()); it != end; ++it) {
      const SettleJob& job = *it->second;
      if (concerns(job, node, verb) && (!newest || job.number >= newest->number)) newest = &job;
    }
    if (newest) return newest->why(node);
  }
  return {node.settling.cause, {}};  // a verb whose operation the loop has not read
}

void SettleJobs::step_past(const core::Node& node) noexcept {
  if (!front()) return;
  SettleJob& job = *front();
  if (job.cursor == &node) job.cursor = next_parent_first(agents_, *job.root, node, false);
  for (ParentFirstCursor& marker : job.markers)
    if (marker.at() == &node) marker.advance(agents_, false);
  for (ChildFirstCursor& walker : job.walkers)
    if (walker.at() == &node) walker.advance(agents_);
}

std::size_t SettleJobs::count(const core::References& refers) const noexcept {
  std::size_t count = 0;
  for (const auto& [root, job] : jobs_) {
    count += refers(root);
    for (const auto& [agent, rests] : job->members) count += refers(agent);
  }
  return count;
}

void SettleJobs::clear() noexcept {
  for (List& jobs : lists_) jobs.clear();
  Table().swap(jobs_);
  pending_ = reports_wanted_ = resumes_ = 0;
}

}  // namespace agentcore::detail::tree
