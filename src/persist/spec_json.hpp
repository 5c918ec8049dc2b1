// AgentSpec as JSON: what of it is data, and the names of what is code.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/agent_spec.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::persist {

// Without the id and the history, whose system message becomes the system prompt. Fields with their default
// value are left out.
AGENTCORE_INTERNAL_API std::string to_json(const AgentSpec& spec);

struct StoredSpec {
  AgentSpec spec;                    // its code is empty, but for the names
  std::vector<std::string> unnamed;  // fields that had code without a name
};
// Throws nlohmann::json::exception.
StoredSpec read_spec(std::string_view text);

}  // namespace agentcore::detail::persist
