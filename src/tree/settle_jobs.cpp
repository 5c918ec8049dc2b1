#include "tree/settle_jobs.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tree {
namespace {

// `node` is in the subtree of the root of `job`. True if the job is one of that verb and includes the agent.
bool concerns(const SettleJob& job, const core::Node& node, Verb verb) noexcept {
  return job.op->closes() && job.op->verb == verb && (job.root == &node || job.op->cascade);
}

}  // namespace

SettleJobs::Draft SettleJobs::draft(core::NodeId root) {
  Draft draft;
  SettleJob& job = *draft.entry_.emplace(root, std::make_unique<SettleJob>())->second;
  draft.queued_.push_back(&job);
  // So that add() does not rehash, which would allocate.
  const auto room =
      static_cast<std::size_t>(jobs_.max_load_factor() * static_cast<float>(jobs_.bucket_count()));
  if (jobs_.size() >= room) jobs_.reserve(2 * (jobs_.size() + 1));
  return draft;
}

void SettleJobs::add(Draft& draft, core::Node& root) noexcept {
  SettleJob& job = draft.job();
  job.root = &root;
  job.cursor = &root;
  job.number = next_number_++;
  if (job.op->collects()) ++reports_wanted_;
  if (job.op->took_effect) {
    job.phase = job.op->verb == Verb::resume ? SettleJob::Phase::resuming : SettleJob::Phase::marking;
    if (job.phase == SettleJob::Phase::resuming) ++resumes_;
    job.place = draft.queued_.begin();
    queue_.splice(queue_.end(), draft.queued_);
  }
  root.settling.is_job_root = true;
  jobs_.insert(draft.entry_.extract(draft.entry_.begin()));
}

void SettleJobs::end_walk(SettleJob& job) noexcept {
  const SettleJob::Phase ended = std::exchange(job.phase, SettleJob::Phase::waiting);
  if (ended == SettleJob::Phase::waiting) return;
  if (ended == SettleJob::Phase::resuming) --resumes_;
  queue_.erase(job.place);
}

// Resets the state that refers to a job before the job is destroyed.
void SettleJobs::forget(SettleJob& job) noexcept {
  end_walk(job);
  if (job.op->collects()) --reports_wanted_;
}

void SettleJobs::remove(SettleJob& job) noexcept {
  forget(job);
  core::Node& root = *job.root;
  const core::NodeId id = job.op->agent;
  const auto [begin, end] = jobs_.equal_range(id);
  jobs_.erase(std::find_if(begin, end, [&job](const auto& entry) { return entry.second.get() == &job; }));
  root.settling.is_job_root = jobs_.contains(id);
}

std::unique_ptr<SettleJob> SettleJobs::take_done(core::NodeId root) noexcept {
  core::Node* const node = agents_.find(root);
  std::unique_ptr<SettleJob> first;
  SettleJob* last = nullptr;
  for (auto [it, end] = jobs_.equal_range(root); it != end;) {
    if (node && it->second->op->verb != Verb::stop) {  // a delete whose agent still exists, or a resume
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
  if (node) node->settling.is_job_root = jobs_.contains(root);
  return first;
}

events::Why SettleJobs::why(const core::Node& node, AgentState to, const SettleJob* walk) const noexcept {
  const Verb verb = to == AgentState::terminating ? Verb::terminate : Verb::stop;
  if (walk && jobs_.size() == 1) {  // there is no other job that could concern the agent
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
  if (queue_.empty()) return;
  SettleJob& job = *queue_.front();
  if (job.cursor == &node) job.cursor = next_parent_first(agents_, *job.root, node, false);
  for (ParentFirstCursor& marker : job.markers)
    if (marker.at() == &node) marker.advance(agents_, false);
  for (ChildFirstCursor& walker : job.walkers)
    if (walker.at() == &node) walker.advance(agents_);
}

std::size_t SettleJobs::count(const core::References& refers) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& entry) { return refers(entry.first); }));
}

void SettleJobs::clear() noexcept {
  queue_.clear();
  Table().swap(jobs_);
  reports_wanted_ = resumes_ = 0;
}

}  // namespace agentcore::detail::tree
