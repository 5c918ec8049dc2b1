// The record of a grant: a permission that a person gave for longer than one call.
#pragma once

#include "turn/grants.hpp"

#include <string>
#include <string_view>

namespace agentcore::detail::persist {

std::string to_json(const turn::StoredGrant& grant);
// Throws nlohmann::json::exception.
turn::StoredGrant read_grant(std::string_view text);

}  // namespace agentcore::detail::persist
