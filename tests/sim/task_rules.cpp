#include "sim/task_rules.hpp"

#include <agentcore/turn_result.hpp>

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {

void TaskRules::shown(Duration retention, std::size_t kept) {
  retention_ = retention;
  kept_ = kept;
  for (auto& [agent, made] : made_)
    if (made.had_end) made.since = clock_.now();
}

void TaskRules::tree_ended() {
  for (auto& [agent, made] : made_) {
    made.had_end = made.had_end || ends_.contains(made.task);
    made.may_have_ended = made.may_have_ended || is_left_ || std::exchange(made.may_drop, false);
    made.since.reset();
    made.seen_at.reset();
    made.is_sure = made.stored && !is_left_;  // its end may be in memory alone
    uses_[agent].begun.clear();
    uses_[agent].is_more_here = false;
  }
  ends_.clear();
  ended_at_.clear();
  tasks_.clear();
  order_.clear();
  terminated_.clear();
  keys_.clear();
  ended_here_ = 0;
  all_are_known_ = true;
  is_left_ = false;
}

void TaskRules::created(const std::string& task, const std::string& agent, bool alone, bool stored) {
  if (tasks_.emplace(task, agent).second) order_.push_back(task);
  verdict_.require(tasks_[task] == agent, "tasks", "the task " + task + " is one of two agents");
  if (!alone) return;
  MadeFor& made = made_[agent];
  made.task = task;
  made.stored = made.stored || stored;
  if (ends_.contains(task) && !made.since) {
    made.since = ended_at_[task];
    ++ended_here_;
  }
}

void TaskRules::has_key(const std::string& key, const std::string& body, const std::string& task) {
  const auto [known, is_new] = keys_.emplace(key, std::pair(body, task));
  if (is_new) return;
  verdict_.require(known->second.first == body, "tasks", "two requests have one Idempotency-Key: " + key);
  verdict_.require(known->second.second == task, "tasks",
                   "a request that was sent again has made another task: " + key);
}

void TaskRules::got(const std::string& agent, MessageId message) {
  uses_[agent].got.insert(message);
}

bool TaskRules::has_more(const std::string& agent, const MadeFor& made, bool here) const {
  const auto found = uses_.find(agent);
  if (found == uses_.end()) return false;
  const auto is_other = [&](MessageId id) { return to_string(id) != made.task; };
  const Use& use = found->second;
  return use.is_more_here || std::ranges::any_of(use.begun, is_other) ||
         (!here && (use.is_more || std::ranges::any_of(use.got, is_other)));
}

void TaskRules::may_drop(const std::string& agent) {
  if (const auto made = made_.find(agent); made != made_.end()) made->second.may_drop = true;
}

void TaskRules::is_used(const std::string& agent) {
  uses_[agent].is_more = uses_[agent].is_more_here = true;
}

void TaskRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentCreated>() != nullptr) {
    uses_.erase(id);
    made_.erase(id);
    if (const auto parent = event.agent().parent()) is_used(parent.value().id());
  }
  if (const auto* started = event.get<TurnStarted>()) uses_[id].begun.insert(started->message);
  if (event.get<Steered>() != nullptr || event.get<TaskChanged>() != nullptr) is_used(id);
  std::string task;
  if (const auto* ended = event.get<TurnEnded>()) {
    task = to_string(ended->message);
    const TurnOutcome outcome = ended->result->outcome;
    const bool is_end = outcome == TurnOutcome::completed || outcome == TurnOutcome::failed;
    ends_[task] = !is_end ? End::terminated : ended->result->success() ? End::completed : End::failed;
  }
  if (const auto* dropped = event.get<MessageDropped>()) {
    task = to_string(dropped->id);
    ends_[task] = End::terminated;
  }
  const auto* const restored = event.get<AgentRestored>();
  if (restored != nullptr && restored->message && restored->fate == RestoredTurn::interrupted) {
    task = to_string(restored->message);
    ends_[task] = End::terminated;
  }
  if (!task.empty()) ended_at_.emplace(task, clock_.now());
  const auto made = made_.find(id);
  if (!task.empty() && made != made_.end() && made->second.task == task && !made->second.since) {
    made->second.since = clock_.now();
    ++ended_here_;
  }
  const auto* const change = event.get<StateChanged>();
  if (change != nullptr && change->to == AgentState::terminating &&
      change->origin.reason().starts_with("its task has ended"))
    deleted_after_its_task(id);
}

void TaskRules::deleted_after_its_task(const std::string& agent) {
  const auto found = made_.find(agent);
  if (found == made_.end()) {
    verdict_.require(!all_were_known_ || asked_ != 0, "tasks",
                     "an agent was deleted after a task that has not made it: " + agent);
    return;
  }
  const MadeFor& made = found->second;
  verdict_.require(!has_more(agent, made, true), "tasks",
                   "an agent was deleted that got more than its task: " + agent);
  verdict_.require(made.since.has_value() || made.may_have_ended, "tasks",
                   "an agent was deleted before the end of its task: " + agent);
  const auto ended_before = std::ranges::count_if(
      made_, [](const auto& entry) { return entry.second.had_end || entry.second.may_have_ended; });
  const std::size_t ended = ended_here_ + static_cast<std::size_t>(ended_before);
  verdict_.require(!made.since || clock_.now() >= *made.since + retention_ || ended > kept_ ||
                       !all_were_known_ || asked_ != 0,
                   "tasks", "an agent was deleted too early after its task: " + agent);
}

void TaskRules::says_status(const std::string& task, std::string_view status, bool was_over) {
  const auto end = ends_.find(task);
  const std::string what = task + " is \"" + std::string(status) + '"';
  const bool is_open = status == "pending" || status == "running";
  verdict_.require(!was_over || !is_open, "tasks", "a task that has ended: " + what);
  if (is_open) return;
  const bool is_terminated = status == "terminated", is_failed = status.starts_with("failed: ");
  verdict_.require(is_terminated || is_failed || status == "completed", "tasks",
                   "no status of a task: " + what);
  if (end == ends_.end()) {
    verdict_.require(is_terminated, "tasks", "a task that has not ended: " + what);
  } else if (is_terminated) {
    verdict_.require(end->second == End::terminated, "tasks", "a task that was not terminated: " + what);
  } else {
    verdict_.require(is_failed == (end->second == End::failed) && end->second != End::terminated, "tasks",
                     "a task with another end: " + what);
  }
}

void TaskRules::says_result(const std::string& task, bool success) {
  const auto end = ends_.find(task);
  verdict_.require(end != ends_.end(), "tasks", "a result before the end of task " + task);
  if (end == ends_.end()) return;
  verdict_.require(success == (end->second == End::completed), "tasks",
                   "another result than that of task " + task);
}

void TaskRules::says_no_result(const std::string& task) {
  const auto end = ends_.find(task);
  verdict_.require(end != ends_.end() && end->second == End::terminated, "tasks",
                   "a task without a result that was not terminated: " + task);
}

void TaskRules::says_unknown(const std::string& task) {
  if (!tasks_.contains(task)) return;
  std::size_t ended = 0;
  for (const auto& [other, agent] : tasks_)
    ended += other != task && (ends_.contains(other) || terminated_.contains(other));
  const bool has_ended = ends_.contains(task) || terminated_.contains(task);
  verdict_.require(has_ended, "tasks", "a task that has not ended is not found: " + task);
  verdict_.require(ended >= kept_ || !all_are_known_ || asked_ != 0, "tasks",
                   "a task that must be kept is not found: " + task);
}

void TaskRules::says_not_ended(const std::string& task, bool was_over) {
  verdict_.require(!was_over, "tasks", "a task has ended, and the console says that it has not: " + task);
}

void TaskRules::says_terminated(const std::string& task) {
  terminated_.insert(task);
  const auto end = ends_.find(task);
  verdict_.require(end == ends_.end() || end->second == End::terminated, "tasks",
                   "a task was terminated and has completed or failed: " + task);
}

void TaskRules::says_events(const std::string& task, const std::string& stream) {
  std::vector<std::string> types;
  std::size_t at = 0;
  for (std::size_t end = stream.find("\n\n"); end != stream.npos;
       at = end + 2, end = stream.find("\n\n", at)) {
    if (stream[at] == ':') continue;  // nothing new
    const auto event = nlohmann::json::parse(stream.substr(at + 6, end - at - 6), nullptr, false);
    const bool is_its = event.is_object() && event.value("taskId", "") == task;
    verdict_.require(is_its, "tasks", "an event of another task in the stream of " + task);
    if (is_its) types.push_back(event.value("type", ""));
  }
  verdict_.require(at == stream.size() && !types.empty() && types.front() == "status", "tasks",
                   "the events of a task do not begin with its status, or are cut off: " + task);
  const auto is_end = [](const std::string& type) {
    return type == "complete" || type == "error" || type == "terminated";
  };
  verdict_.require(std::ranges::count_if(types, is_end) == 1 && is_end(types.back()), "tasks",
                   "the events of a task have not one end, or go on after it: " + task);
  const auto end = ends_.find(task);
  if (end == ends_.end() || types.empty()) return;
  const std::string_view expected = end->second == End::completed ? "complete"
                                    : end->second == End::failed  ? "error"
                                                                  : "terminated";
  verdict_.require(types.back() == expected, "tasks",
                   "the events of a task say " + types.back() + ", and it has another end: " + task);
}

std::string TaskRules::any(std::uint32_t n) const {
  return order_.empty() ? "m0" : order_[order_.size() - 1 - n % order_.size()];
}

void TaskRules::check_quiet(const AgentTree& tree) {
  for (auto& [agent, made] : made_) {
    made.may_drop = false;
    if (made.since && !made.seen_at) made.seen_at = clock_.now();
    if (!made.is_sure || !made.seen_at || clock_.now() <= *made.seen_at + retention_ ||
        has_more(agent, made, false))
      continue;
    const auto found = tree.find(agent);
    verdict_.require(!found || found.value().state().value() == AgentState::terminating, "tasks",
                     "the time of an agent is over that was made for a task: " + agent);
  }
}

}  // namespace agentcore::sim
