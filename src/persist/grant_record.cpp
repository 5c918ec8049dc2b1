#include "persist/grant_record.hpp"

#include "persist/json_fields.hpp"
#include "persist/record_text.hpp"

namespace agentcore::detail::persist {

std::string to_json(const turn::StoredGrant& grant) {
  const turn::Coverage& covers = grant.covers;
  RecordText text;
  text.add("id", grant.id);
  text.add("tool", std::string_view(covers.tool));
  text.put_enum("scope", grant.scope, GrantScope::agent);
  text.put("window", covers.window_id);
  text.put("description", covers.description);
  text.put("parameters", covers.parameters);
  text.put_enum("mode", covers.mode, ToolMode::sync);
  text.put("arguments", covers.arguments);
  text.put("key", covers.key);
  return text.take();
}

turn::StoredGrant read_grant(std::string_view text) {
  const ParsedRecord parsed(text);
  const json& object = *parsed;
  turn::StoredGrant grant;
  turn::Coverage& covers = grant.covers;
  need(object, "id", grant.id);
  need(object, "tool", covers.tool);
  get_enum(object, "scope", grant.scope, GrantScope::subtree);
  get(object, "window", covers.window_id);
  get(object, "description", covers.description);
  get(object, "parameters", covers.parameters);
  get_enum(object, "mode", covers.mode, ToolMode::async);
  get(object, "arguments", covers.arguments);
  get(object, "key", covers.key);
  return grant;
}

}  // namespace agentcore::detail::persist
