// TerminateScope: agents whose lifetime ends with a block of code.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/export.hpp>

#include <cstddef>
#include <vector>

namespace agentcore {

/// RAII for agents. When the scope closes, the agents that were created through it or attached to it are
/// deleted (or stopped, with StopVerb::stop) together with their descendants.
///
///     {
///       agentcore::TerminateScope scope{planner};
///       agentcore::Agent helper = scope.create({.id = "helper"}).value();
///       if (!helper.send("Look this up.")) return;
///     }  // helper and its descendants are deleted, also after an exception
///
/// Closing calls the verb for each agent, the newest first, and returns at once. By then the agents are
/// closed; the loop cleans up later (G4). The results of the verbs are ignored: an agent for which the verb
/// is refused, by its AgentRole or because there is no memory, continues. A scope may be closed from any
/// callback.
///
/// A scope may outlive its agents and its tree; closing it then does nothing. Scopes may be nested: the
/// agents of an inner scope are usually descendants of agents of an outer scope. The first scope that closes
/// ends them, and the other scope finds nothing left to do.
///
/// A scope can be moved; a moved-from scope is closed and empty.
///
/// Threads: the scope object is not synchronized, so two threads must not use it at once. create() and
/// attach() must be called on the loop thread; the owner may call close(), release() and the destructor on
/// any thread.
class AGENTCORE_API TerminateScope {
 public:
  /// Creates an open scope whose create() creates children of `parent`.
  explicit TerminateScope(Agent parent, StopVerb verb = StopVerb::terminate) noexcept;
  /// Creates an open scope whose create() creates root agents of `tree`.
  explicit TerminateScope(AgentTree& tree, StopVerb verb = StopVerb::terminate) noexcept;
  /// Takes over the agents of `other`, which is closed and empty afterwards.
  TerminateScope(TerminateScope&& other) noexcept;
  /// Closes this scope as close() does, then takes over the agents of `other`.
  TerminateScope& operator=(TerminateScope&& other) noexcept;
  /// Calls close().
  /// @threadsafe
  ~TerminateScope();

  /// Creates an agent that belongs to the scope.
  /// Errors: those of Agent::create_child(). `agent_not_found` if the scope is closed, released or moved
  /// from.
  /// @loop_thread
  Result<Agent> create(AgentSpec spec = {});

  /// Adds an existing agent of the same tree to the scope, for example an agent that was created elsewhere.
  /// Adding an agent twice has no further effect. Returns false if the agent was deleted or belongs to
  /// another tree, or if the scope is closed. Throws std::bad_alloc if an allocation fails.
  /// @loop_thread
  bool attach(const Agent& agent);

  /// Calls the verb on the agents, and closes the scope. Does not block. Further calls have no effect.
  /// @threadsafe
  void close() noexcept;

  /// Closes the scope without ending its agents. Returns the agents, the oldest first.
  /// @threadsafe
  std::vector<Agent> release() noexcept;

  /// Returns the number of agents in the scope. An agent that was deleted by other means may still be counted
  /// for a while.
  std::size_t size() const noexcept { return agents_.size(); }
  /// Returns false after close(), release() or a move from this scope.
  bool is_open() const noexcept { return open_; }

 private:
  void keep(const Agent& agent);

  Agent parent_;
  std::vector<Agent> agents_;
  StopVerb verb_ = StopVerb::terminate;
  bool open_ = false;
};

}  // namespace agentcore
