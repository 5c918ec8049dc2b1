// Whether what can be asked about a tree agrees with what was reported, when nothing is due.
#include "sim/held_call.hpp"
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>

namespace agentcore::sim {
namespace {

constexpr std::size_t most_agents = 100;  // of more it takes too long

}  // namespace

void World::check_views() {
  const test::HostCode host;
  const AgentTree& tree = *run_->tree;
  if (tree.size() > most_agents || store_.fails()) return;
  std::size_t agents = 0;
  const TreeOptions limits = Run::options_of(*this, run_->client());
  std::map<std::string, std::size_t> depths;
  tree.walk([&](const Agent& agent) {
    ++agents;
    check_view(agent);
    const auto parent = agent.parent();
    const std::size_t depth = parent ? depths[parent.value().id()] + 1 : 1;
    depths[agent.id()] = depth;
    verdict_.require(depth <= limits.max_depth, "G15", "an agent is deeper than TreeOptions::max_depth");
  });
  verdict_.require(agents <= limits.max_agents, "G15", "more agents than TreeOptions::max_agents");
  verdict_.require(agents == tree.size(), "views",
                   "a walk meets " + std::to_string(agents) + " agents of " + std::to_string(tree.size()));
  const auto tasks = tree.tasks();
  for (const auto& call : held_) {
    if (!call->done || call->threw || call->context.stop().stop_requested() || !tree.find(call->agent))
      continue;
    const std::string& id = call->context.call_id();
    const bool is_listed = std::ranges::any_of(
        tasks, [&](const RunningTask& task) { return task.id == id && task.agent_id == call->agent; });
    verdict_.require(is_listed, "views",
                     "a call that runs is not in tasks(): " + call->agent + ' ' + call->name);
  }
  messages_.check_views(tree);
}

void World::check_view(const Agent& agent) {
  const std::string id = agent.id();
  const AgentStatus status = agent.status().value();
  const auto state = states_.find(id);
  if (state != states_.end() && gates_.is_leased(id))
    verdict_.require(state->second == status.state, "views",
                     id + " is " + std::string(to_string(status.state)) + ", and was last reported as " +
                         std::string(to_string(state->second)));
  const auto queued = agent.queued();
  verdict_.require(queued && queued.value().size() == agent.queue_length().value_or(0), "views",
                   "queued() and queue_length() differ: " + id);
  if (setup_[Knob::console] == 0 && setup_[Knob::store] == 0)  // else others may have paused it
    verdict_.require(status.paused == gates_.is_paused(id), "views",
                     id + (status.paused ? " is paused, and no verb has paused it" : " is not paused"));
}

// Nothing is left to do: no timer runs, but those that wait for a person or a host.
void World::check_timers() {
  // A program that was given up may run for longer.
  if (setup_[Knob::programs] != 0) return;
  if (setup_[Knob::store] != 0 || setup_[Knob::models] != 0 || setup_[Knob::console] != 0 || has_clocks_)
    return;
  verdict_.require(!run_->runtime.next_deadline(), "G13", "a timer is left at rest");
}

}  // namespace agentcore::sim
