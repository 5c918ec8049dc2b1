#include "spec_view.hpp"

#include "seconds.hpp"

#include <agentcore/agent_spec.hpp>

#include <string_view>

namespace store_tool {
namespace {

using agentcore::AgentRole;
using agentcore::AgentSpec;
using agentcore::Duration;
using agentcore::ResponseFormat;
using agentcore::ToolChoice;
using agentcore::ToolProtocol;
using Json = nlohmann::ordered_json;

std::string_view name_of(AgentRole role) noexcept {
  return role == AgentRole::user ? "user" : role == AgentRole::system ? "system" : "normal";
}

std::string_view name_of(ToolProtocol protocol) noexcept {
  return protocol == ToolProtocol::text ? "text" : "native";
}

std::string_view name_of(ResponseFormat::Kind kind) noexcept {
  if (kind == ResponseFormat::Kind::json_schema) return "json_schema";
  return kind == ResponseFormat::Kind::json_object ? "json_object" : "text";
}

Json tool_choice_json(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::none:
      return "none";
    case ToolChoice::Mode::required:
      return "required";
    case ToolChoice::Mode::named:
      return {{"named", choice.name}};
    case ToolChoice::Mode::automatic:
      break;
  }
  return "automatic";
}

// Replaces the member, if there is one.
void replace(Json& object, const char* name, Json value) {
  if (object.contains(name)) object[name] = std::move(value);
}

void replace_duration(Json& object, const char* name, const char* in_seconds) {
  const auto found = object.find(name);
  if (found == object.end()) return;
  const Duration duration(found->get<Duration::rep>());
  object.erase(name);
  object[in_seconds] = seconds_of(duration);
}

}  // namespace

Json spec_json(const agentcore::detail::persist::StoredSpec& stored) {
  const AgentSpec& spec = stored.spec;
  Json object = Json::parse(agentcore::detail::persist::to_json(spec));
  replace(object, "role", name_of(spec.role));
  replace(object, "tool_protocol", name_of(spec.tool_protocol));
  replace(object, "partial_answers", to_string(spec.partial_answers));
  replace(object, "tool_choice", tool_choice_json(spec.model.tool_choice));
  replace_duration(object, "turn_timeout", "turn_timeout_seconds");
  replace_duration(object, "lease", "lease_seconds");
  for (const char* const budget : {"budget", "subtree_budget"})
    if (object.contains(budget)) replace_duration(object[budget], "wall_clock", "wall_clock_seconds");
  if (object.contains("response_format"))
    object["response_format"]["kind"] = name_of(spec.model.response_format.kind);
  if (object.contains("context"))
    replace(object["context"], "volatile_place", to_string(spec.context.volatile_place));
  if (!stored.unnamed.empty()) object["code"]["unnamed"] = stored.unnamed;
  return object;
}

}  // namespace store_tool
