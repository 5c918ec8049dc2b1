// A file that needs no definition of nlohmann::json. The second include brings it all the same.
#include "agentcore.hpp"

std::size_t names_of(const agentcore::AgentTree& tree);

std::size_t names_of(const agentcore::AgentTree& tree) {
  std::size_t bytes = 0;
  tree.walk([&bytes](const agentcore::Agent& agent) { bytes += agent.id().size(); });
  return bytes;
}

#define AGENTCORE_JSON
#include "agentcore.hpp"

static_assert(sizeof(nlohmann::json) > 0);
