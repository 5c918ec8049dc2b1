#include "sim/time_rules.hpp"

namespace agentcore::sim {

void TimeRules::begun(const ToolContext& context, Duration timeout) {
  const std::string agent = context.agent().id(), key = call_key(agent, context.call_id());
  const bool is_task = context.call_id().starts_with("task_");
  const TimePoint until = clock_.now() + timeout;
  calls_[key] = {agent, until, is_task};
  // A turn may have an earlier deadline; a task outlives it.
  const TimePoint said = context.deadline();
  verdict_.require(said == until || (!is_task && said < until), "time-outs",
                   "ToolContext::deadline() is not the time-out of the call: " + key);
}

void TimeRules::gave(const std::string& agent, const std::string& call_id) {
  const auto call = calls_.find(call_key(agent, call_id));
  if (call != calls_.end() && !call->second.gave) call->second.gave = clock_.now();
}

// Where the loop is late, a result that came after the time-out may count.
void TimeRules::end(const std::string& key, std::string_view message) {
  const auto found = calls_.extract(key);
  if (!found || !message.starts_with("timed out")) return;
  const Call& call = found.mapped();
  verdict_.require(clock_.now() >= call.until, "time-outs", "a call has timed out too early: " + key);
  verdict_.require(!call.gave || *call.gave >= call.until, "time-outs",
                   "a call has timed out, and its result came in time: " + key);
}

void TimeRules::see(const Event& event) {
  const std::string agent = event.agent().id();
  if (const auto* ended = event.get<ToolEnded>()) end(call_key(agent, ended->call_id), ended->result.message);
  if (const auto* task = event.get<TaskChanged>(); task != nullptr && task->state != TaskState::started)
    end(task->task_id, task->result.message);
  const bool is_deleted = event.get<AgentDeleted>() != nullptr;
  if (event.get<TurnEnded>() != nullptr || is_deleted)
    std::erase_if(calls_, [&](const auto& entry) {
      return entry.second.agent == agent && (is_deleted || !entry.second.is_task);
    });
}

void TimeRules::check_quiet() const {
  for (const auto& [key, call] : calls_)
    verdict_.require(clock_.now() < call.until, "time-outs", "a call goes on after its time-out: " + key);
}

}  // namespace agentcore::sim
