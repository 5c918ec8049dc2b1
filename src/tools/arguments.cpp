#include "tools/arguments.hpp"

#include "core/json_depth.hpp"

#include <cstddef>

#include <nlohmann/json.hpp>

namespace agentcore::detail::tools {
namespace {

using nlohmann::json;

}  // namespace

bool is_without_arguments(std::string_view text) noexcept {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string parse_arguments(const std::string& text, json& arguments) {
  if (core::json_depth(text) > core::max_json_depth)
    return "the arguments are nested deeper than " + std::to_string(core::max_json_depth) + " levels";
  arguments = is_without_arguments(text) ? json::object() : json::parse(text, nullptr, false);
  if (arguments.is_discarded()) return "the arguments are not valid JSON; write them as one JSON object";
  if (!arguments.is_object()) return "the arguments are not a JSON object";
  return {};
}

std::string as_object(const std::string& text) {
  json arguments;
  return parse_arguments(text, arguments).empty() ? arguments.dump() : "{}";
}

}  // namespace agentcore::detail::tools
