// What a restart must not change, while agents work: their gates, pauses, holds and mailboxes.
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <algorithm>

namespace agentcore::sim {

RestoreOptions World::restore_options() {
  RestoreOptions options;
  options.durability = Durability(setup_[Knob::durability] % 3);
  options.sync = store_.sync();
  options.turns = setup_[Knob::turns_go_on] != 0 ? InterruptedTurns::go_on : InterruptedTurns::end;
  constexpr std::uint32_t no_limit = 1'000'000;
  options.max_attempts = setup_[Knob::max_attempts] != 0 ? setup_[Knob::max_attempts] : no_limit;
  // Without InterruptedTurns::go_on a message begins when the host releases it.
  messages_.attempts_are(options.turns == InterruptedTurns::go_on ? options.max_attempts : no_limit);
  options.code = code(true);
  options.on_failure = on_store_failure();
  if (setup_[Knob::background_store] != 0) options.executor = &executor_;
  return options;
}

// What the specs of World::spec() name.
CodeRegistry World::code(bool complete) {
  CodeRegistry code;
  code.add_tools("tools", tools_);
  code.add_llm("llm", &run_->client());
  code.add_llm("other_llm", &run_->client(1));
  if (!complete) return code;
  code.add_handler("handler", handler());
  code.add_tool_policy("policy", policy());
  return code;
}

std::map<std::string, World::Stored> World::stored_agents() const {
  std::map<std::string, Stored> stored;
  run_->tree->walk([&](const Agent& agent) {
    if (!gates_.is_leased(agent.id())) return;  // its stop has perhaps not reached the store
    const AgentStatus status = agent.status().value();
    Stored& one = stored[agent.id()];
    one.is_closed = !can_process(status.state);
    one.goes = status.state == AgentState::terminating;
    one.may_go = one.goes || gates_.may_go(agent.id());
    one.is_stopping = status.stop_pending.has_value();
    one.is_paused = status.paused;
    one.is_held = status.queue_held;
    const auto parent = agent.parent();
    one.parent = parent ? parent.value().id() : std::string();
    if (const auto queued = agent.queued())
      for (const QueuedMessage& message : queued.value()) one.queue.push_back(message.id);
  });
  return stored;
}

// Only if nobody calls a verb between the flush and the end, or within the restore.
std::optional<std::map<std::string, World::Stored>> World::flushed_agents() {
  const bool is_possible = setup_[Knob::store] != 0 && run_ && run_->tree && !killed_ &&
                           !tree_is_destroyed_ && pending_.empty() && !throws_ && !people_.is_asking() &&
                           problem().empty();
  if (!is_possible || steps_ % 3 != 0) return std::nullopt;
  // What the end of a commit brings about is in the next one.
  for (std::uint64_t seen = events_ + 1; seen != events_;) {
    seen = events_;
    const auto flushed = run_->tree->flush();
    if (!flushed || killed_ || tree_is_destroyed_ || run_->more) return std::nullopt;
  }
  counts_.add("restart after a flush");
  return stored_agents();
}

void World::check_kept(const std::map<std::string, Stored>& before) {
  if (!run_->tree || killed_ || tree_is_destroyed_) return;
  const std::map<std::string, Stored> after = stored_agents();
  const bool any_goes = std::ranges::any_of(before, [](const auto& entry) { return entry.second.may_go; });
  for (const auto& [id, was] : before) {
    const auto found = after.find(id);
    // A delete may include the forks of its agent.
    const bool may_go =
        was.may_go || was.is_stopping || id.starts_with('@') || (any_goes && id.starts_with('f'));
    const auto above = before.find(was.parent);
    const bool goes_with_parent = above != before.end() && !after.contains(was.parent);
    if (found == after.end() && run_->tree->find(id)) continue;
    if (found == after.end()) {
      verdict_.require(may_go || goes_with_parent, "G14", "an agent that the store had is gone: " + id);
      continue;
    }
    const Stored& is = found->second;
    verdict_.require(!was.goes, "G14", "a deleted agent is back: " + id);
    verdict_.require(is.is_closed == (was.is_closed || was.is_stopping), "G14",
                     "a restart has opened or closed " + id);
    verdict_.require(is.is_paused == was.is_paused, "G14", "a restart has changed the pause of " + id);
    verdict_.require(is.is_held || !was.is_held, "G14", "a restart has released the mailbox of " + id);
    verdict_.require(is.is_held || is.queue.empty() || setup_[Knob::turns_go_on] != 0, "G14",
                     "messages wait after a restart, and nothing holds them: " + id);
    // What was begun too often is dropped.
    if (is.is_closed || (setup_[Knob::turns_go_on] != 0 && setup_[Knob::max_attempts] != 0)) continue;
    auto at = is.queue.begin();
    for (const MessageId message : was.queue) {
      at = std::find(at, is.queue.end(), message);
      verdict_.require(at != is.queue.end(), "G14",
                       "message " + to_string(message) + " does not wait in its place any more: " + id);
      if (at == is.queue.end()) return;
    }
  }
}

}  // namespace agentcore::sim
