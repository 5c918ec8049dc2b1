#include "core/agent_access.hpp"
#include "loop/engine.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/terminate_scope.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore {
namespace {

// Makes room for one more handle. Before the vector grows, the handles of deleted agents are removed, so that
// a long-lived scope holds no more than the living agents.
void make_room(std::vector<Agent>& agents) {
  if (agents.size() != agents.capacity()) return;
  std::erase_if(agents, [](const Agent& kept) { return !kept.exists(); });
  agents.reserve(2 * agents.size() + 1);
}

}  // namespace

TerminateScope::TerminateScope(Agent parent, StopVerb verb) noexcept
    : parent_(std::move(parent)), verb_(verb), open_(true) {
}

TerminateScope::TerminateScope(AgentTree& tree, StopVerb verb) noexcept
    : TerminateScope(detail::core::AgentAccess::make(tree.core_, tree.core_->shared().root()), verb) {
}

TerminateScope::TerminateScope(TerminateScope&& other) noexcept
    : parent_(std::move(other.parent_)),
      agents_(std::exchange(other.agents_, {})),
      verb_(other.verb_),
      open_(std::exchange(other.open_, false)) {
}

TerminateScope& TerminateScope::operator=(TerminateScope&& other) noexcept {
  if (this != &other) {
    close();
    parent_ = std::move(other.parent_);
    agents_ = std::exchange(other.agents_, {});
    verb_ = other.verb_;
    open_ = std::exchange(other.open_, false);
  }
  return *this;
}

TerminateScope::~TerminateScope() {
  close();
}

Result<Agent> TerminateScope::create(AgentSpec spec) {
  if (!open_) return Error{Errc::agent_not_found, "the TerminateScope is closed; make a new one"};
  try {
    make_room(agents_);  // first, so that a created agent can always be kept
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
  auto* const core = detail::core::AgentAccess::core(parent_);
  if (!core) return parent_.create_child(std::move(spec));  // says that there is none
  if (core->shared().refuses_thread("Agent::create_child"))
    return detail::loop::wrong_thread("Agent::create_child");
  // The agent is in the scope before AgentCreated: an observer may close, move or destroy the scope.
  return core->factory().create(detail::core::AgentAccess::node(parent_), std::move(spec), &agents_);
}

bool TerminateScope::attach(const Agent& agent) {
  auto* const core = detail::core::AgentAccess::core(parent_);
  if (core && core->shared().refuses_thread("TerminateScope::attach")) return false;
  if (!open_ || detail::core::AgentAccess::core(agent) != detail::core::AgentAccess::core(parent_) ||
      !agent.exists())
    return false;
  if (std::find(agents_.begin(), agents_.end(), agent) == agents_.end()) keep(agent);
  return true;
}

void TerminateScope::keep(const Agent& agent) {
  make_room(agents_);
  agents_.push_back(agent);
}

void TerminateScope::close() noexcept {
  open_ = false;
  auto* const core = detail::core::AgentAccess::core(parent_);
  if (core && core->shared().engine->in_forked_child()) return;  // see core::HomeProcess
  const StopVerb verb = verb_;
  std::vector<Agent> agents = std::exchange(agents_, {});  // a verb may run a callback that ends this scope
  for (; !agents.empty(); agents.pop_back()) {
    if (verb == StopVerb::terminate)
      static_cast<void>(agents.back().terminate({.reason = "scope closed"}));
    else
      static_cast<void>(agents.back().stop({.reason = "scope closed"}));
  }
}

std::vector<Agent> TerminateScope::release() noexcept {
  open_ = false;
  return std::exchange(agents_, {});
}

}  // namespace agentcore
