// The name of a tool call in the rules.
#pragma once

#include <string>

namespace agentcore::sim {

// The id of a call is unique within the history of its agent, and that of a background task everywhere.
inline std::string call_key(const std::string& agent, const std::string& call_id) {
  return call_id.starts_with("task_") ? call_id : agent + '/' + call_id;
}

}  // namespace agentcore::sim
