// TerminateScope: agents that live no longer than a block of code.
#pragma once

#include <agentcore/agent.hpp>

#include <cstddef>
#include <vector>

namespace agentcore {

// What closing a scope does to its agents.
enum class ScopePolicy : unsigned char { terminate, stop };

// RAII over agents: those created through it, or attached to it, are deleted (or stopped, by policy) with
// everything below them when it closes. Closing calls the verb for each, newest first, and returns at once;
// the gates are closed then, what is left is cleaned up by the loop (G4). It may be closed from any callback.
//
// A scope may outlive its agents and its tree: closing it then does nothing. Scopes nest: an inner scope's
// agents are usually below an outer one's, and whichever closes first wins. Movable; a moved-from scope is
// empty. Not @threadsafe: create() and attach() are @loop_thread, close() may be called by whoever owns it.
class TerminateScope {
 public:
  // Children of `parent`.
  explicit TerminateScope(Agent parent, ScopePolicy policy = ScopePolicy::terminate) noexcept;
  // Root agents of `tree`.
  explicit TerminateScope(AgentTree& tree, ScopePolicy policy = ScopePolicy::terminate) noexcept;
  TerminateScope(TerminateScope&& other) noexcept;
  TerminateScope& operator=(TerminateScope&& other) noexcept;  // closes what it held
  ~TerminateScope() { close(); }

  // Makes an agent that belongs to the scope. Errors as Agent::create_child(); `agent_not_found` on a scope
  // that is closed, released or moved from.
  Result<Agent> create(AgentSpec spec = {});

  // Takes an existing agent of the same tree in, e.g. one made elsewhere. False when it is gone, of another
  // tree, or the scope is closed.
  bool attach(const Agent& agent);

  // Applies the policy to its agents and closes the scope. Does not block. Idempotent.
  void close() noexcept;

  // Lets its agents live on, and closes the scope. Returns them, oldest first.
  std::vector<Agent> release() noexcept;

  // Agents held. One that was deleted by others may still count for a while.
  std::size_t size() const noexcept { return agents_.size(); }
  bool is_open() const noexcept { return open_; }

 private:
  void keep(const Agent& agent);

  Agent parent_;
  std::vector<Agent> agents_;
  ScopePolicy policy_ = ScopePolicy::terminate;
  bool open_ = false;
};

}  // namespace agentcore
