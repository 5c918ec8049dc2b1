#include "persist/grant_record.hpp"

#include "persist/json_fields.hpp"

namespace agentcore::detail::persist {

std::string to_json(const turn::StoredGrant& grant) {
  const turn::Coverage& covers = grant.covers;
  json object{{"id", grant.id}, {"tool", covers.tool}};
  put_enum(object, "scope", grant.scope, GrantScope::agent);
  put(object, "window", covers.window_id);
  put(object, "description", covers.description);
  put(object, "parameters", covers.parameters);
  put_enum(object, "mode", covers.mode, ToolMode::sync);
  put(object, "arguments", covers.arguments);
  put(object, "key", covers.key);
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

turn::StoredGrant read_grant(std::string_view text) {
  const json object = parse_object(text);
  turn::StoredGrant grant;
  turn::Coverage& covers = grant.covers;
  object.at("id").get_to(grant.id);
  object.at("tool").get_to(covers.tool);
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
