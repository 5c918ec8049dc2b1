#include "sim/turn_rules.hpp"

#include <algorithm>

namespace agentcore::sim {

void TurnRules::created(const std::string& id, const AgentSpec& spec) {
  limits_[id] = {.timeout = spec.limits.turn_timeout,
                 .parallel = std::max<std::size_t>(spec.limits.parallel_tools, 1),
                 .tasks = spec.limits.background_tasks,
                 .rounds = spec.limits.tool_rounds,
                 .repairs = spec.limits.repairs,
                 .mailbox = spec.limits.mailbox.value_or(mailbox_limit_),
                 .is_handled = bool(spec.handler)};
}

void TurnRules::forked(const std::string& from, const std::string& id) {
  limits_.erase(id);  // of an earlier agent of that id
  const auto limits = limits_.find(from);
  if (limits != limits_.end()) limits_[id] = Limits(limits->second);
}

std::optional<TurnRules::Limits> TurnRules::limits_of(const std::string& id) const {
  const auto found = limits_.find(id);
  return found == limits_.end() ? std::nullopt : std::optional(found->second);
}

std::set<std::string> TurnRules::handled() const {
  std::set<std::string> found;
  for (const auto& [id, limits] : limits_)
    if (limits.is_handled && !deleted_.contains(id)) found.insert(id);
  return found;
}

void TurnRules::imported(const std::string& id, const std::optional<Limits>& limits) {
  limits_.erase(id);
  if (limits) limits_[id] = *limits;
}

void TurnRules::accepted(MessageId id, std::optional<TimePoint> deadline) {
  if (deadline) deadlines_[id] = *deadline;
}

void TurnRules::sent(const Agent& agent, const SendResult& sent) {
  const std::string id = agent.id();
  const auto limits = limits_.find(id);
  const auto waiting = agent.queue_length();
  if (limits == limits_.end() || !waiting) return;
  verdict_.require(!sent || waiting.value() <= limits->second.mailbox, "G15",
                   "a message was accepted beyond AgentLimits::mailbox: " + id);
  verdict_.require(sent.reason != Errc::mailbox_full || waiting.value() >= limits->second.mailbox, "G15",
                   "a mailbox that is not full is said to be full: " + id);
}

void TurnRules::ended_by_verb(const std::string& agent, std::uint64_t turn, TurnOutcome outcome) {
  const auto ended = ended_.find(agent);  // within the verb
  if (turn != 0 && (ended == ended_.end() || ended->second != turn))
    outcomes_.emplace(Turn(agent, turn), outcome);
}

void TurnRules::begins_at(TimePoint now, const Turn& turn, std::string_view what) const {
  const auto until = until_.find(turn);
  verdict_.require(until == until_.end() || now < until->second, "G1",
                   std::string(what) + " after the deadline of its turn: " + turn.first);
}

void TurnRules::tool_begins(const std::string& agent, std::uint64_t turn, bool handed_over) const {
  begins_at(handed_over ? polled_at_ : clock_.now(), {agent, turn}, "a tool");
}

void TurnRules::model_call_begins(const std::string& agent, std::uint64_t turn) {
  if (turn == 0) return;
  begins_at(clock_.now(), {agent, turn}, "a model call");
}

void TurnRules::see_tools(const Event& event, const std::string& id) {
  const auto limits = limits_.find(id);
  if (const auto* started = event.get<ToolStarted>()) {
    if (given_.erase({id, started->call_id}) == 0) calls_[id].insert(started->call_id);
    verdict_.require(limits == limits_.end() || calls_[id].size() <= limits->second.parallel, "G15",
                     "more calls side by side than AgentLimits::parallel_tools: " + id);
  }
  if (const auto* ended = event.get<ToolEnded>()) calls_[id].erase(ended->call_id);
  if (const auto* task = event.get<TaskChanged>()) {
    if (task->state == TaskState::started)
      tasks_[id].insert(task->task_id);
    else
      tasks_[id].erase(task->task_id);
    verdict_.require(limits == limits_.end() || tasks_[id].size() <= limits->second.tasks, "G15",
                     "more tasks than AgentLimits::background_tasks: " + id);
  }
  if (const auto* ended = event.get<ModelCallEnded>()) {
    Reasks& reasks = reasks_[{id, ended->turn}];
    ++reasks.all;
    reasks.of_answers += ended->cause == ReaskCause::steered ? 0 : 1;
    verdict_.require(reasks.all <= max_reasks_, "G15", "more requests than TreeOptions::max_reasks: " + id);
    verdict_.require(limits == limits_.end() || reasks.of_answers <= limits->second.repairs, "G15",
                     "more requests than AgentLimits::repairs: " + id);
  }
}

void TurnRules::end(const TurnEnded& ended, const std::string& id) {
  const Turn turn{id, ended.turn};
  // A stop may follow before the loop has ended the turn: then it is stopped.
  const auto state = ended.agent.state();
  const bool may_be_stopped =
      ended.result->outcome == TurnOutcome::stopped && (!state || !can_process(state.value()));
  if (const auto wanted = outcomes_.find(turn); wanted != outcomes_.end() && !may_be_stopped)
    verdict_.require(ended.result->outcome == wanted->second, "G10",
                     "a verb has ended a turn of " + id + " as " + std::string(to_string(wanted->second)) +
                         ", and it ends as " + std::string(to_string(ended.result->outcome)));
  const auto limits = limits_.find(id);
  for (const ToolCallRecord& record : ended.result->calls)
    verdict_.require(limits == limits_.end() || record.round <= limits->second.rounds ||
                         record.outcome == ToolOutcome::not_started,
                     "G15", "a call beyond AgentLimits::tool_rounds: " + id);
  until_.erase(turn);
  outcomes_.erase(turn);
  reasks_.erase(turn);
  calls_.erase(id);
  ended_[id] = ended.turn;
}

void TurnRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentCreated>() != nullptr && deleted_here_.contains(id)) made_again_.insert(id);
  if (event.get<AgentDeleted>() != nullptr) {
    limits_.erase(id);
    deleted_.insert(id);
    deleted_here_.insert(id);
    tasks_.erase(id);
    ended_.erase(id);
  }
  if (const auto* started = event.get<TurnStarted>()) {
    const auto limits = limits_.find(id);
    if (limits != limits_.end() && limits->second.is_handled) return;
    std::optional<TimePoint> until;
    if (const auto found = deadlines_.find(started->message); found != deadlines_.end()) {
      until = found->second;
      verdict_.require(polled_at_ < *until, "G1", "a turn after the deadline of its message: " + id);
    }
    if (limits != limits_.end() && limits->second.timeout != no_limit) {
      const TimePoint end = clock_.now() + limits->second.timeout;
      until = until ? std::min(*until, end) : end;
    }
    if (until) until_[{id, started->turn}] = *until;
  }
  see_tools(event, id);
  if (const auto* ended = event.get<TurnEnded>()) end(*ended, id);
}

void TurnRules::process_ended() {
  deadlines_.clear();
  until_.clear();
  outcomes_.clear();
  reasks_.clear();
  calls_.clear();
  given_.clear();
  ended_.clear();
  tasks_.clear();
  for (const std::string& id : made_again_) limits_.erase(id);  // which of the two is there is not known
  made_again_.clear();
  deleted_here_.clear();
}

void TurnRules::keep_only(const AgentTree& tree) {
  std::erase_if(limits_, [&](const auto& entry) { return !tree.find(entry.first); });
}

}  // namespace agentcore::sim
