#include "agent_view.hpp"

#include "seconds.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_map>

namespace store_tool {
namespace {

using agentcore::detail::core::Gate;
using agentcore::detail::core::Grade;

std::string_view state_of(const persist::ForestAgent& agent) noexcept {
  const persist::FoundState& found = agent.found;
  if (found.is_deleted) return "terminating";
  if (!found.is_stopped()) return "open";
  // A restart makes a deferred stop a stop.
  const bool closed_above = agent.parent && agent.parent->found.is_closed_below;
  return agent.record.gate == Gate::open && agent.record.grade != Grade::none && !closed_above ? "stopping"
                                                                                               : "stopped";
}

Json account_json(const persist::AccountRecord& account) {
  Json object = Json::object();
  const auto add = [&](const char* name, const auto& limit, const auto& used) {
    if (!(limit == agentcore::no_limit)) object[name] = limit;
    object[std::string(name) + "_used"] = used;
  };
  add("turns", account.budget.turns, account.spent.turns);
  add("tokens", account.budget.tokens, account.spent.tokens);
  add("cost", account.budget.cost, account.spent.cost);
  if (!(account.budget.wall_clock == agentcore::no_limit))
    object["seconds_left"] = seconds_of(account.budget.wall_clock);
  if (account.expired) object["expired"] = true;
  return object;
}

}  // namespace

std::vector<AgentView> views_of(const persist::StoredForest& forest) {
  std::vector<AgentView> views;
  views.reserve(forest.agents().size());  // the pointers to views stay valid
  std::unordered_map<const persist::ForestAgent*, AgentView*> view_of;
  for (const auto& agent : forest.agents()) {
    AgentView* const parent = agent->parent ? view_of.at(agent->parent) : nullptr;
    AgentView view{agent.get(), state_of(*agent)};
    view.is_paused = agent->record.paused || (parent ? parent->is_paused : forest.tree().paused);
    view.is_held = agent->record.held || (parent && parent->is_held && parent->agent->record.holds_below);
    views.push_back(std::move(view));
    view_of.emplace(agent.get(), &views.back());
    if (parent) parent->children.push_back(&views.back());
  }
  return views;
}

Json agent_json(const AgentView& view) {
  const persist::ForestAgent& agent = *view.agent;
  Json object{{"id", agent.id()}, {"parent", nullptr}, {"state", view.state}};
  if (agent.parent) object["parent"] = agent.parent->id();
  object["cause"] = nullptr;
  if (view.state != "open") object["cause"] = to_string(agent.found.cause);
  object["stopped_by_ancestor"] = agent.found.is_stopped() && agent.found.stopped_by_ancestor;
  object["paused"] = view.is_paused;
  object["held"] = view.is_held;
  object["messages"] = agent.mail.size();
  object["turns"] = agent.record.turns;
  object["turn_in_progress"] = nullptr;
  if (agent.record.turn) object["turn_in_progress"] = agent.record.turn->number;
  return object;
}

namespace {

auto open_calls(const agentcore::detail::turn::StoredTurn& turn) {
  using State = agentcore::detail::turn::Call::State;
  return std::count_if(turn.calls.begin(), turn.calls.end(),
                       [](const auto& call) { return call.state != State::done; });
}

}  // namespace

Json record_json(const persist::AgentRecord& record) {
  Json object{{"spec", record.spec}, {"paused_itself", record.paused}, {"held_itself", record.held}};
  if (record.grade != Grade::none) {
    object["stop_pending"] = record.grade == Grade::after_turn ? "after_turn" : "after_step";
    object["stop_pending_deletes"] = record.grade_deletes;
  }
  if (record.turn) {
    object["turn"] = {{"number", record.turn->number},
                      {"message", to_string(record.turn->message)},
                      {"question_in_conversation", record.turn->asked},
                      {"model_calls", record.turn->model_calls},
                      {"tool_calls", record.turn->calls.size()},
                      {"tool_calls_without_result", open_calls(*record.turn)}};
    Json& questions = object["turn"]["questions"] = Json::array();
    for (const agentcore::detail::turn::RestoredQuestion& question : record.turn->questions)
      questions.push_back("q_" + std::to_string(question.number));
  }
  if (!record.tasks.empty()) {
    Json& tasks = object["background_tasks"] = Json::array();
    for (const persist::TaskRecord& task : record.tasks)
      tasks.push_back({{"id", task.id}, {"tool", task.tool}});
  }
  if (!record.ended_tasks.empty()) object["ended_tasks"] = record.ended_tasks;
  if (record.own) object["budget"] = account_json(*record.own);
  if (record.subtree) object["subtree_budget"] = account_json(*record.subtree);
  return object;
}

}  // namespace store_tool
