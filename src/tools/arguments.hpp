// The arguments of a call, as a model wrote them.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::tools {

// Reads `text` into `arguments`, an object then; blank is an empty one. Why it is none, for the model; else
// "".
std::string parse_arguments(const std::string& text, nlohmann::json& arguments);

// What a provider is sent back later must be an object, whatever the model wrote.
std::string as_object(const std::string& text);

}  // namespace agentcore::tools
