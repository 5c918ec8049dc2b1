#include "sim/coverage.hpp"

namespace agentcore::sim {

std::string to_string(const Coverage& coverage) {
  std::string text = "verbs by the state of their agent:";
  for (int state = 0; state < agent_state_count; ++state)
    text += '\t' + std::string(to_string(AgentState(state)));
  text += '\n';
  for (std::size_t i = 0; i < act_count; ++i) {
    if (!is_verb(Act(i))) continue;
    text += to_string(Act(i));
    for (int state = 0; state < agent_state_count; ++state)
      text += '\t' + std::to_string(coverage.count(Act(i), AgentState(state)));
    text += '\n';
  }
  text += "verbs by what their agent waits for:";
  for (std::size_t wait = 0; wait < wait_count; ++wait) text += '\t' + std::string(to_string(Wait(wait)));
  text += '\n';
  for (std::size_t i = 0; i < act_count; ++i) {
    if (!is_verb(Act(i))) continue;
    text += to_string(Act(i));
    for (std::size_t wait = 0; wait < wait_count; ++wait)
      text += '\t' + std::to_string(coverage.count(Act(i), Wait(wait)));
    text += '\n';
  }
  return text + std::to_string(coverage.size()) + " points of verb, state, wait, callback and fault\n";
}

}  // namespace agentcore::sim
