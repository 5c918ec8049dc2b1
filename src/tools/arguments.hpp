// The arguments of a call, in the form in which a model wrote them.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::tools {

// Parses `text` into `arguments`, which is an object then; a blank text is an empty object. Returns the
// reason for the model if the text is not an object; else "".
std::string parse_arguments(const std::string& text, nlohmann::json& arguments);

// Arguments that are sent back to a provider later must be an object, whatever the model wrote.
std::string as_object(const std::string& text);

}  // namespace agentcore::detail::tools
