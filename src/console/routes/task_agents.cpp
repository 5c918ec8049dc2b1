#include "console/routes/task_agents.hpp"

#include "core/task_mark.hpp"
#include "loop/time.hpp"

#include <agentcore/verbs.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace agentcore::detail::console {
namespace {

// True if a message waits that is not its task. The task itself waits if the agent has begun no turn.
bool has_another(const Agent& agent) {
  const Result<std::size_t> waiting = agent.queue_length();
  return waiting && *waiting > (core::turns_begun(agent) == 0 ? 1 : 0);
}

// True if nothing but its task was ever done with it, as far as it shows now.
bool is_unused(const Agent& agent) {
  const Result<std::size_t> waiting = agent.queue_length();
  const Result<std::vector<Agent>> children = agent.children();
  return waiting && *waiting == 0 && children && children->empty() && !core::has_steered(agent);
}

}  // namespace

void TaskAgents::follow(AgentTree& tree) {
  leave();
  tree.walk([this](const Agent& agent) {
    const Result<AgentState> state = agent.state();
    if (core::has_task_mark(agent))
      find_again(agent, state && (*state == AgentState::waiting_llm || *state == AgentState::processing), {});
  });
  events_ = tree.on_event([this](const Event& event) { take(event); });
}

void TaskAgents::leave() {
  events_.reset();
  if (timer_ != 0) engine_->cancel_timer(timer_);
  timer_ = 0;
  agents_.clear();
  ended_.clear();
}

void TaskAgents::add(const Agent& agent, MessageId task) {
  agents_[agent] = {.task = task};
  core::set_task_mark(agent, true);
}

// A restart has brought it back. A message that waits is that of its task, unless it has begun a turn.
void TaskAgents::find_again(const Agent& agent, bool in_turn, MessageId of_turn) {
  Entry& entry = agents_[agent];
  entry.in_turn = in_turn;
  if (has_another(agent)) return keep(agent);
  if (in_turn) {
    entry.task = of_turn;
    return;
  }
  if (is_unused(agent)) end(agent, entry);
}

void TaskAgents::take(const Event& event) {
  if (const auto* restored = event.get<AgentRestored>()) {
    if (core::has_task_mark(restored->agent))
      find_again(restored->agent, restored->fate == RestoredTurn::continues, restored->message);
    return;
  }
  if (agents_.empty()) return;
  if (event.get<AgentCreated>() != nullptr) {
    const Result<Agent> parent = event.agent().parent();
    return parent && agents_.contains(*parent) ? keep(*parent) : void();
  }
  const auto found = agents_.find(event.agent());
  if (found == agents_.end()) return;
  Entry& entry = found->second;
  if (const auto* started = event.get<TurnStarted>()) {
    if (entry.task == MessageId{}) entry.task = started->message;
    if (entry.task != started->message || entry.has_ended) keep(event.agent());
  } else if (event.get<Steered>() != nullptr || event.get<TaskChanged>() != nullptr) {
    keep(event.agent());
  } else if (const auto* ended = event.get<TurnEnded>()) {
    if (entry.task == MessageId{} || ended->message == entry.task) end(event.agent(), entry);
  } else if (const auto* dropped = event.get<MessageDropped>()) {
    const bool is_unknown = entry.task == MessageId{} && !entry.in_turn;
    if (is_unknown || dropped->id == entry.task) end(event.agent(), entry);
  } else if (event.get<AgentDeleted>() != nullptr) {
    forget(event.agent());
  }
}

void TaskAgents::end(const Agent& agent, Entry& entry) {
  if (std::exchange(entry.has_ended, true)) return;
  entry.until = loop::later(engine_->now(), retention_);
  ended_.push_back(agent);
  start_timer();
}

// It is an agent like any other from now on.
void TaskAgents::keep(const Agent& agent) {
  const Agent kept = agent;  // NOLINT: `agent` may be a key of what is erased
  forget(kept);
  core::set_task_mark(kept, false);
}

void TaskAgents::forget(const Agent& agent) noexcept {
  const Agent gone = agent;  // NOLINT: `agent` may be a key of what is erased
  agents_.erase(gone);
  std::erase(ended_, gone);
}

// In a timer: never in a callback of the agent that is deleted.
void TaskAgents::delete_due() {
  timer_ = 0;
  const TimePoint now = engine_->now();
  while (!ended_.empty() && (ended_.size() > kept_ || agents_.at(ended_.front()).until <= now)) {
    const Agent agent = ended_.front();
    if (!is_unused(agent)) {
      keep(agent);
      continue;
    }
    forget(agent);
    static_cast<void>(agent.terminate({.reason = "its task has ended (ConsoleOptions::task_retention)"}));
  }
  start_timer();
}

void TaskAgents::start_timer() {
  if (ended_.empty()) return;
  const TimePoint due = ended_.size() > kept_ ? engine_->now() : agents_.at(ended_.front()).until;
  if (timer_ != 0 && ended_.size() <= kept_) return;
  if (timer_ != 0) engine_->cancel_timer(timer_);
  timer_ = engine_->start_timer(
      due, [this] { delete_due(); }, loop::TimerUse::watch);
}

}  // namespace agentcore::detail::console
