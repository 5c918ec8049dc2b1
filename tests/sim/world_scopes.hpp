// Scopes: the TerminateScopes of the host, and what they must have.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/terminate_scope.hpp>

#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <vector>

namespace agentcore::sim {

struct ScopeOfHost {
  TerminateScope scope;
  StopVerb policy;
  std::string parent;              // empty: it makes roots
  bool is_of_tree = false;         // that there is; else of an agent that was gone, perhaps with its tree
  std::vector<Agent> agents = {};  // the oldest first
  bool is_open = true;
};

struct Scopes {
  std::list<ScopeOfHost> all;
  ScopeOfHost* creates = nullptr;  // that one makes an agent whose AgentCreated is still to come

  ScopeOfHost& any(std::uint32_t n) {
    return *std::next(all.begin(), static_cast<std::ptrdiff_t>(n % all.size()));
  }
};

}  // namespace agentcore::sim
