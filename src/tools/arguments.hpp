// The arguments of a call, in the form in which a model wrote them.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace agentcore::detail::tools {

// Parses `text` into `arguments`, which is an object then; a blank text is an empty object. Returns the
// reason for the model if the text is not an object; else "".
std::string parse_arguments(const std::string& text, nlohmann::json& arguments);

// What a model reads of a call whose arguments never came, if the tool has parameters and could be called
// without: a server that lost them says the same as one that sends nothing for {}.
inline constexpr std::string_view no_arguments =
    "the call has no arguments; write them as one JSON object, or {} to call the tool without any";

// True for a text of blanks: no arguments came.
bool is_without_arguments(std::string_view text) noexcept;

// Arguments that are sent back to a provider later must be an object, whatever the model wrote.
std::string as_object(const std::string& text);

}  // namespace agentcore::detail::tools
