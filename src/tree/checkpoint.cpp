// export_agents() and import_agents().
#include "core/agent_access.hpp"
#include "loop/engine.hpp"
#include "tree/agent_documents.hpp"
#include "tree/tree_core.hpp"

#include <agentcore/checkpoint.hpp>

#include <utility>

namespace agentcore {

using detail::core::AgentAccess;
using detail::loop::wrong_thread;

Result<std::string> export_agents(const Agent& agent, ExportOptions options) {
  auto* const core = AgentAccess::core(agent);
  if (!core) return Error{Errc::agent_not_found, "the Agent is empty"};
  if (core->shared().refuses_thread("export_agents")) return wrong_thread("export_agents");
  return core->factory().documents().export_agents(AgentAccess::node(agent), options);
}

Result<ImportReport> import_agents(AgentTree& tree, std::string_view document, ImportOptions options) {
  auto* const core = AgentAccess::core(tree);
  if (core->shared().refuses_thread("import_agents")) return wrong_thread("import_agents");
  return core->factory().documents().import_agents(document, std::move(options));
}

}  // namespace agentcore
