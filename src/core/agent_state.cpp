// The state table.
#include "core/enum_names.hpp"

#include <agentcore/agent_state.hpp>

#include <array>
#include <cstddef>

namespace agentcore {
namespace {

// Row: from. Column: to, in the order of the enumeration. Deleting is not a column: it ends in no state.
constexpr bool edges[agent_state_count][agent_state_count] = {
    // idle, waiting_llm, processing, stopping, stopped, terminating
    {false, true, true, true, false, true},      // idle
    {true, false, true, true, false, true},      // waiting_llm
    {true, true, false, true, false, true},      // processing
    {false, false, false, false, true, false},   // stopping
    {true, false, false, false, false, true},    // stopped; to idle by resume only
    {false, false, false, false, false, false},  // terminating
};

}  // namespace

std::optional<AgentState> agent_state_from_string(std::string_view text) noexcept {
  return detail::core::value_of<AgentState>(text);
}

bool is_allowed(AgentState from, AgentState to) noexcept {
  return edges[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace agentcore
