// AgentView: what the program says about an agent.
#pragma once

#include "persist/stored_forest.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace store_tool {

namespace persist = agentcore::detail::persist;
using Json = nlohmann::ordered_json;

struct AgentView {
  const persist::ForestAgent* agent = nullptr;
  // "open"; "stopping": a deferred stop is pending; "stopped"; "terminating": being deleted. Also by an
  // ancestor.
  std::string_view state;
  bool is_paused = false;  // also by an ancestor, or as a whole tree
  bool is_held = false;    // also by an ancestor
  std::vector<const AgentView*> children = {};
};

// In the order of creation, parents before children. `forest` must live as long.
std::vector<AgentView> views_of(const persist::StoredForest& forest);

// The members that `list` has of each agent.
Json agent_json(const AgentView& view);
// What the record of the agent has besides.
Json record_json(const persist::AgentRecord& record);

}  // namespace store_tool
