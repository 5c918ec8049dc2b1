// The spec of an agent, as the program shows it.
#pragma once

#include "persist/spec_json.hpp"

#include <nlohmann/json.hpp>

namespace store_tool {

// As in the store, but with the names of enumerators and with durations in seconds. Fields with their default
// value are left out. Under "code" are the names of what is code, and in "unnamed" the fields whose code has
// no name.
nlohmann::ordered_json spec_json(const agentcore::detail::persist::StoredSpec& spec);

}  // namespace store_tool
