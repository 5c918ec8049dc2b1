// TerminateScope: agents whose lifetime ends with a block of code of the host.
#include "sim/world_scopes.hpp"

#include "sim/choices.hpp"
#include "sim/world.hpp"
#include "sim/world_result.hpp"
#include "sim/world_run.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace agentcore::sim {

namespace {

constexpr std::size_t most_scopes = 4;

// A verb that a scope calls is refused by these, and they go on.
bool is_protected(const Agent& agent, StopVerb policy) {
  const auto role = agent.role();
  if (!role) return true;  // it is gone
  return role.value() == AgentRole::user ||
         (role.value() == AgentRole::system && policy == StopVerb::terminate);
}

}  // namespace

bool World::act_on_scopes(const Command& command) {
  if (command.act < Act::open_scope || command.act > Act::release_scope) return false;
  const test::HostCode host;
  if (!scopes_) scopes_ = std::make_shared<Scopes>();
  if (command.act == Act::open_scope)
    open_scope(command);
  else if (!scopes_->all.empty())
    use_scope(command);
  return true;
}

void World::open_scope(const Command& command) {
  const StopVerb policy = command.n[1] % 3 == 2 ? StopVerb::stop : StopVerb::terminate;
  const Agent parent = agent(command.n[0]);
  const bool of_tree = command.n[2] % 4 == 3;
  if (scopes_->all.size() == most_scopes) close_scope(scopes_->all.front(), 2);
  if (of_tree)
    scopes_->all.push_back({TerminateScope(*run_->tree, policy), policy, {}, true});
  else
    scopes_->all.push_back({TerminateScope(parent, policy), policy, parent.id(), parent.exists()});
  note(command, "done");
}

void World::use_scope(const Command& command) {
  ScopeOfHost& one = scopes_->any(command.n[0]);
  switch (command.act) {
    case Act::scope_creates:
      return create_in_scope(command, one);
    case Act::scope_attaches: {
      const Agent who = agent(command.n[1]);
      const bool may_be = one.is_open && who.exists();
      const bool attached = [&] {
        const test::LibraryCode library;
        return one.scope.attach(who);
      }();
      note(command, attached ? "done" : "refused");
      verdict_.require(attached == may_be || (!attached && !one.is_of_tree), "scopes",
                       "attach() says something else than it should: " + who.id());
      if (attached && std::ranges::find(one.agents, who) == one.agents.end()) one.agents.push_back(who);
      return;
    }
    case Act::release_scope: {
      const bool was_open = one.is_open;
      const std::vector<Agent> released = [&] {
        const test::LibraryCode library;
        return one.scope.release();
      }();
      note(command, was_open ? "done" : "was closed");
      auto next = released.begin();
      for (const Agent& agent : one.agents) {
        if (!agent.exists()) continue;
        next = std::find(next, released.end(), agent);
        verdict_.require(next != released.end(), "scopes", "release() does not return " + agent.id());
        if (next == released.end()) return;
      }
      one.agents.clear();
      one.is_open = false;
      return check_scope(one);
    }
    default: {
      const bool was_open = one.is_open;
      close_scope(one, command.n[1]);
      note(command, was_open ? "done" : "was closed");
    }
  }
}

void World::create_in_scope(const Command& command, ScopeOfHost& one) {
  AgentSpec wanted = spec(command.n[1]);
  const AgentSpec as_wanted = copy_of(wanted);
  const bool may_be_made = gates_.may_create(one.parent), was_open = one.is_open;
  scopes_->creates = &one;
  const auto made = [&] {
    const test::LibraryCode library;
    return one.scope.create(std::move(wanted));
  }();
  const bool is_noted = std::exchange(scopes_->creates, nullptr) == nullptr;
  note_result(command, made);
  verdict_.require(!made || may_be_made, "G2", "a scope has created an agent behind a closed gate");
  verdict_.require(!made || was_open, "scopes", "a closed scope has created an agent");
  verdict_.require(was_open || made.error().code == Errc::agent_not_found, "scopes",
                   "a closed scope does not say so");
  if (!made) return;
  const auto parent = made.value().parent();
  verdict_.require((parent ? parent.value().id() : std::string()) == one.parent || !made.value().exists(),
                   "scopes", "a scope has created an agent at another place: " + as_wanted.id);
  if (!is_noted) one.agents.push_back(made.value());  // its event follows the callback that runs
  note_created(as_wanted.id, as_wanted);
  if (as_wanted.limits.lease != no_limit) gates_.lease_begins(as_wanted.id, as_wanted.limits.lease);
  if (as_wanted.auto_resume)
    once_resumed_.insert(as_wanted.id), resumes_by_itself_.insert(as_wanted.id);
  else
    resumes_by_itself_.erase(as_wanted.id);
}

// `how`: by close(), by its destructor, by the assignment of another scope; or it is moved, and goes on.
void World::close_scope(ScopeOfHost& one, std::uint32_t how) {
  if (how % 6 == 5) {
    const test::LibraryCode library;
    TerminateScope moved(std::move(one.scope));
    one.scope.close();  // it has nothing
    one.scope = std::move(moved);
    return check_scope(one);
  }
  const std::vector<Agent> closed = std::exchange(one.agents, {});
  one.is_open = false;
  for (const Agent& agent : closed)
    for (const std::string& below : gates_.subtree(agent.id())) may_drop(below);
  std::vector<Agent> open;  // newest first, as the verbs are called
  for (auto at = closed.rbegin(); at != closed.rend(); ++at)
    if (at->exists() && !is_protected(*at, one.policy)) open.push_back(*at);
  std::vector<bool> were_open;
  for (const Agent& agent : open) were_open.push_back(can_process(agent.state().value_or(AgentState::idle)));
  {
    const test::LibraryCode library;
    if (how % 6 == 4)
      one.scope = TerminateScope(Agent(), one.policy);
    else if (how % 6 == 3)
      TerminateScope ended(std::move(one.scope));
    else
      one.scope.close();
  }
  if (how % 6 == 4) one.scope.close();
  if (killed_ || tree_is_destroyed_) return;
  std::set<std::string> gone;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const std::string id = open[i].id();
    const bool took_effect = were_open[i] && !gone.contains(id);
    gone.merge(gates_.subtree(id));
    resumed_.erase(id);
    if (one.policy == StopVerb::terminate) {
      gates_.goes(id, false);
      gates_.stopped(id, true);
    } else {
      gates_.stopped(id, took_effect);
    }
    const auto state = open[i].state();
    verdict_.require(!state || !can_process(state.value()) || fault_came(), "G1",
                     "a scope is closed, and an agent of it is open: " + id);
  }
  // The calls of an agent whose lease is over are cut by the loop.
  const bool is_leased =
      std::ranges::all_of(open, [this](const Agent& agent) { return gates_.is_leased(agent.id()); });
  cuts_later_ = cuts_later_ || fault_came() || !is_leased;
  if (run_->tree) gates_.check(*run_->tree);
  check_scope(one);
}

void World::check_scope(const ScopeOfHost& one) {
  verdict_.require(one.scope.is_open() == one.is_open, "scopes", "a scope says that it is open, or closed");
  std::size_t there = 0;
  for (const Agent& agent : one.agents) there += agent.exists() ? 1 : 0;
  verdict_.require(one.scope.size() >= there && (one.is_open || one.scope.size() == 0), "scopes",
                   "a scope has another number of agents");
}

}  // namespace agentcore::sim
