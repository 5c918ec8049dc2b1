// The record of a turn in progress.
#pragma once

#include "turn/stored_turn.hpp"

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::persist {

std::string to_json(const turn::StoredTurn& turn);
// Throws nlohmann::json::exception.
turn::StoredTurn read_turn(const nlohmann::json& object);

}  // namespace agentcore::detail::persist
