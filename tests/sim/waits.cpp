#include "sim/waits.hpp"

#include <agentcore/question.hpp>

#include <algorithm>

namespace agentcore::sim {
namespace {

// The world notes the beginning of all tools but these.
bool begins_unseen(std::string_view tool) {
  constexpr std::array<std::string_view, 5> tools = {"ask_human", "delegate", "program", "hasty", "service"};
  return std::ranges::find(tools, tool) != tools.end();
}

}  // namespace

void Waits::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<DeltaReceived>() != nullptr || event.get<ReasoningReceived>() != nullptr)
    calls_[id] = Wait::text;
  else if (const auto* summary = event.get<CompactionChanged>(); summary != nullptr && !summary->ended)
    calls_[id] = Wait::summary;
  else if (event.get<StateChanged>() == nullptr && event.get<MessagePersisted>() == nullptr)
    calls_.erase(id);
}

Wait Waits::of(const AgentTree& tree, const Agent& agent) const {
  const std::string id = agent.id();
  bool has_turn = false, has_background = false, is_stopping = false;
  Wait found = Wait::nothing;
  for (const RunningTask& task : tree.tasks()) {
    if (task.agent_id != id) continue;
    is_stopping = is_stopping || task.stopping;
    if (task.kind == TaskKind::turn) has_turn = true;
    if (task.kind == TaskKind::background) has_background = true;
    if (task.kind == TaskKind::model_call) {
      const auto call = calls_.find(id);
      found = call == calls_.end() ? Wait::model : call->second;
    }
    if (task.kind == TaskKind::tool_call && found == Wait::nothing)
      found = begins_unseen(task.tool) || begun_.contains(task.id) ? Wait::tool : Wait::start;
  }
  if (is_stopping) return Wait::grace;
  for (const OpenQuestion& question : tree.questions())
    if (question.agent_id == id)
      return question.kind == QuestionKind::approval ? Wait::approval : Wait::answer;
  if (found != Wait::nothing) return found;
  if (!has_turn) return has_background ? Wait::background : Wait::nothing;
  const auto status = agent.status();
  return status && status.value().paused ? Wait::pause : Wait::next_step;
}

}  // namespace agentcore::sim
