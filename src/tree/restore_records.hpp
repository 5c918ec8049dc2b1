// RestoreRecords: the records for TreeOptions::audit of the stops and deletes that a restart has finished.
#pragma once

#include "tree/stored_tree.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/stop_audit.hpp>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::tree {

// The process ended before they had settled, so no record was made of them. The store does not have who
// called them, when and why. @loop_thread
class RestoreRecords {
 public:
  explicit RestoreRecords(TreeShared& tree) noexcept : tree_(tree) {}
  // All agents exist. Throws std::bad_alloc.
  void make(const StoredTree& stored);
  // Calls the audit with each. It may destroy the tree.
  void report() noexcept;

 private:
  StopRecord* begins(const StoredAgentOfTree& agent);
  StopRecord& add(StopVerb verb, std::string agent_id, StopCause cause);
  void add_agent(StopRecord& record, const StoredAgentOfTree& agent) const;
  std::string id_of(const StoredAgentOfTree& agent) const;

  TreeShared& tree_;
  std::vector<std::unique_ptr<StopRecord>> records_;
  // The record that includes the descendants of an agent.
  std::unordered_map<const StoredAgentOfTree*, StopRecord*> below_;
};

}  // namespace agentcore::detail::tree
