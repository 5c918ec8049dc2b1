// The routes that list, show and create agents.
#include "console/events/agent_json.hpp"
#include "console/routes/arguments.hpp"
#include "console/routes/refused.hpp"
#include "console/routes/router.hpp"
#include "console/routes/twice.hpp"

#include <agentcore/agent_tree.hpp>

#include <utility>

namespace agentcore::detail::console {
namespace {

constexpr std::uint64_t agents_per_page = 500;
constexpr std::uint64_t most_agents_per_page = 1000;

std::optional<Response> list_agents(RouteCall& call) {
  const std::size_t total = call.tree().size();
  const std::uint64_t after = number_in_query(call.request, "after", 0, UINT64_MAX).value_or(0);
  const std::uint64_t limit =
      number_in_query(call.request, "limit", 1, most_agents_per_page).value_or(agents_per_page);
  const auto& entries = call.core.feed.directory().entries();
  Json agents = Json::array();
  Json last = nullptr;
  auto next = entries.upper_bound(after);
  for (; next != entries.end() && agents.size() < limit; ++next) {
    call.core.feed.show(next->second);
    agents.push_back(to_json(next->second));
    last = next->first;
  }
  if (next == entries.end()) last = nullptr;
  return json_response({{"agents", std::move(agents)},
                        {"next", last},
                        {"total", total},
                        {"lastEventId", call.core.log->id_of(call.core.log->last())}});
}

Json json_of_call(const RunningTask& task) {
  return {{"callId", task.id},
          {"tool", task.tool},
          {"turn", task.turn},
          {"kind", to_string(task.kind)},
          {"stopping", task.stopping}};
}

std::optional<Response> show_agent(RouteCall& call) {
  const AgentEntry& entry = call.entry();
  Json turn = nullptr, calls = Json::array();
  for (const RunningTask& task : call.tree().tasks()) {
    if (task.agent_id != entry.id) continue;
    if (task.kind == TaskKind::turn) turn = {{"turn", task.turn}, {"taskId", to_string(task.message)}};
    if (task.kind == TaskKind::tool_call || task.kind == TaskKind::background)
      calls.push_back(json_of_call(task));
  }
  call.core.feed.show(entry);
  return json_response({{"agent", to_json(entry)}, {"turn", std::move(turn)}, {"calls", std::move(calls)}});
}

// How many agents a stop or a delete would reach.
std::optional<Response> show_reach(RouteCall& call) {
  const AgentEntry& entry = call.entry();
  std::size_t agents = 0;
  const auto& entries = call.core.feed.directory().entries();
  for (auto next = entries.find(entry.serial()); next != entries.end(); ++next)
    agents += next->second.path->is_below(entry.serial()) ? 1 : 0;
  return json_response({{"agentId", entry.id}, {"agents", agents}});
}

Response created_response(RouteCall& call, const Agent& created) {
  return twice([&] {
    const AgentEntry* const entry =
        call.core.feed.directory().enter(created, call.core.engine->clock().wall_time());
    if (entry == nullptr) throw Refused(Errc::agent_not_found);
    return json_response({{"ok", true}, {"agent", to_json(*entry)}}, 201);
  });
}

std::optional<Response> create_agent(RouteCall& call) {
  const Arguments arguments(call.request, {"id", "parentId", "model", "systemPrompt"});
  AgentTree& tree = call.tree();
  AgentSpec spec = call.core.options.agent;
  spec.id = arguments.text_or("id", "");
  spec.model.name = arguments.text_or("model", spec.model.name);
  spec.system_prompt = arguments.text_or("systemPrompt", spec.system_prompt);
  const std::string parent_id = arguments.text_or("parentId", "");
  Result<Agent> created = Error{};
  if (parent_id.empty()) {
    created = tree.create(std::move(spec));
  } else {
    const Result<Agent> parent = tree.find(parent_id);
    if (!parent) throw Refused(parent.error().code);
    created = parent->create_child(std::move(spec));
  }
  if (!created) throw Refused(created.error());
  try {
    return created_response(call, *created);
  } catch (...) {  // a client that is told of no agent must not have made one
    static_cast<void>(created->terminate());
    throw;
  }
}

}  // namespace

std::vector<Route> agent_routes() {
  return {{"GET", "/api/agents", RouteUse::read, list_agents, Waits::never, false, "after limit"},
          {"POST", "/api/agents", RouteUse::write, create_agent, Waits::store},
          {"GET", "/api/agent/*", RouteUse::read, show_agent},
          {"GET", "/api/agent/*/reach", RouteUse::read, show_reach}};
}

}  // namespace agentcore::detail::console
