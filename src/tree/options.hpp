// Checks of TreeOptions and AgentSpec.
#pragma once

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_tree.hpp>

#include <cstdint>
#include <optional>

namespace agentcore::detail::tree {

inline constexpr std::uint16_t max_mailbox_limit = 65'000;

// Throws std::invalid_argument for the first option that is out of range.
void check_options(const TreeOptions& options);

// Why no agent can be made from `spec`; empty: one can.
std::optional<Error> check_spec(const AgentSpec& spec);

}  // namespace agentcore::detail::tree
