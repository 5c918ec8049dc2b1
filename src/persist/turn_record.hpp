// The record of a turn in progress.
#pragma once

#include "turn/stored_turn.hpp"

#include <nlohmann/json.hpp>

namespace agentcore::detail::persist {

nlohmann::json turn_json(const turn::StoredTurn& turn);
// Throws nlohmann::json::exception.
turn::StoredTurn read_turn(const nlohmann::json& object);

}  // namespace agentcore::detail::persist
