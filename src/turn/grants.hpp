// Grants: the permissions that people gave for longer than one call.
#pragma once

#include "core/agent_table.hpp"
#include "core/references.hpp"

#include <agentcore/tool.hpp>
#include <agentcore/tool_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::turn {

// Which calls a grant covers: those with exactly these values. The texts of the tool, not a hash of them:
// nobody can write another tool with the same ones.
struct Coverage {
  std::string window_id;  // empty: an ordinary tool
  std::string tool;
  std::string description;
  std::string parameters;
  ToolMode mode = ToolMode::sync;
  std::string arguments;  // canonical; empty: `key` decides
  std::string key;

  bool operator==(const Coverage&) const = default;
  // True if the grant is of a tool of that name, but not of that one.
  bool is_changed(std::string_view window, const ToolSpec& now) const noexcept;
};

struct StoredGrant {
  std::uint64_t id = 0;
  GrantScope scope = GrantScope::agent;
  Coverage covers;
};

// All @loop_thread.
class Grants {
 public:
  // Nothing: the agent has the same grant already. If it throws, nothing has changed.
  std::optional<std::uint64_t> add(core::NodeId agent, GrantScope scope, Coverage covers);
  // True if a grant of the agent, or one of an ancestor for its subtree, covers such a call.
  bool covers(const core::Node& node, const Coverage& call) const noexcept;
  // Ends the grants of the agent for another tool of that name. False: there was none.
  bool end_changed(core::NodeId agent, std::string_view window_id, const ToolSpec& tool) noexcept;
  // Ends the grants of all agents whose registries have another tool of that name now. Returns these agents.
  std::vector<core::NodeId> end_all_changed(const core::AgentTable& agents);
  // False: there is no such grant.
  bool revoke(std::uint64_t id) noexcept;
  // The agent that has the grant; 0: there is no such grant.
  core::NodeId agent_of(std::uint64_t id) const noexcept;
  // For the store: those of an agent.
  const std::vector<StoredGrant>& of(core::NodeId agent) const noexcept;
  // The ids up to that one were given before a restart.
  void reserve(std::uint64_t id) noexcept { last_id_ = std::max(last_id_, id); }
  // The highest id that was given.
  std::uint64_t last_id() const noexcept { return last_id_; }
  // The agent had these before a restart; their ids were reserve()d. Throws std::bad_alloc.
  void restore(core::NodeId agent, std::vector<StoredGrant> grants);
  // The oldest first.
  std::vector<Grant> list(const core::AgentTable& agents) const;
  // How many these agents have (for leak tests).
  std::size_t count(const core::References& refers) const noexcept;
  // Forgets the grants of agents that do not exist any more.
  void forget_deleted(const core::AgentTable& agents) noexcept;
  void forget(core::NodeId agent) noexcept { by_agent_.erase(agent); }
  void clear() noexcept { by_agent_.clear(); }

 private:
  template <typename Ends>
  std::size_t erase_if(const Ends& ends);

  std::map<core::NodeId, std::vector<StoredGrant>> by_agent_;  // no entry is empty
  std::uint64_t last_id_ = 0;
};

}  // namespace agentcore::detail::turn
