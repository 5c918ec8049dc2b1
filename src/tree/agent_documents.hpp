// AgentDocuments: agents of a tree as a JSON document, and agents that are created from one.
#pragma once

#include "persist/agent_document.hpp"
#include "tree/agent_factory.hpp"
#include "tree/tree_shared.hpp"

#include <agentcore/checkpoint.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::tree {

// All @loop_thread.
class AgentDocuments {
 public:
  AgentDocuments(TreeShared& tree, AgentFactory& factory) : tree_(tree), factory_(factory) {}

  Result<std::string> export_agents(core::NodeId root, const ExportOptions& options);
  Result<ImportReport> import_agents(std::string_view text, ImportOptions&& options);

 private:
  // A spec of the document, with its code.
  struct BoundSpec {
    SharedAgentSpec spec;
    std::string unbound;  // what was not found
  };

  Result<void> add(core::Node& node, std::uint64_t parent, persist::AgentDocument& document);
  std::optional<persist::AccountRecord> account_of(const turn::Account* account, const Budget& of_spec) const;
  persist::AgentRecord record_of(const core::Node& node) const;
  static std::optional<Error> problem_of(const core::Node& node);
  std::size_t spec_of(const core::Node& node, persist::AgentDocument& document);

  std::optional<Error> problem_of(const persist::AgentDocument& document) const;
  Result<std::vector<BoundSpec>> bind(const persist::AgentDocument& document,
                                      const ImportOptions& options) const;
  Result<Agent> create(persist::DocumentAgent& from, core::NodeId parent, const BoundSpec& spec);
  Result<void> create_all(persist::AgentDocument& document, const std::vector<BoundSpec>& specs,
                          core::NodeId top, ImportReport& report);
  void begin_all(persist::AgentDocument& document, const std::vector<BoundSpec>& specs, ImportReport& report);
  void undo(const ImportReport& report) noexcept;
  static void set_pause_and_hold(const Agent& agent, const persist::AgentRecord& record);
  static void set_stop(const Agent& agent, const persist::AgentRecord& record, const std::string& unbound);
  std::size_t send_mail(const Agent& agent, std::vector<persist::MailRecord>& mail) const;

  TreeShared& tree_;
  AgentFactory& factory_;
  std::unordered_map<const AgentSpec*, std::size_t> specs_;  // of the document that is being made
};

}  // namespace agentcore::detail::tree
