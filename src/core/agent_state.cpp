// The state table, and the names of the states and the roles.
#include "core/enum_names.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_state.hpp>

#include <array>
#include <cstddef>

namespace agentcore {
namespace {

constexpr detail::core::EnumNames agent_state_names{
    std::to_array<detail::core::EnumName<AgentState>>({{AgentState::idle, "idle"},
                                                       {AgentState::waiting_llm, "waiting_llm"},
                                                       {AgentState::processing, "processing"},
                                                       {AgentState::stopping, "stopping"},
                                                       {AgentState::stopped, "stopped"},
                                                       {AgentState::terminating, "terminating"}})};
static_assert(agent_state_names.is_in_order());
static_assert(agent_state_names.size() == agent_state_count);

constexpr detail::core::EnumNames agent_role_names{std::to_array<detail::core::EnumName<AgentRole>>(
    {{AgentRole::normal, "normal"}, {AgentRole::system, "system"}, {AgentRole::user, "user"}})};
static_assert(agent_role_names.is_in_order());

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

std::string_view to_string(AgentState state) noexcept {
  return agent_state_names.name(state);
}

std::optional<AgentState> agent_state_from_string(std::string_view text) noexcept {
  return agent_state_names.value(text);
}

std::string_view to_string(AgentRole role) noexcept {
  return agent_role_names.name(role);
}

bool is_allowed(AgentState from, AgentState to) noexcept {
  return edges[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

}  // namespace agentcore
