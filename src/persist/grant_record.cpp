#include "persist/grant_record.hpp"

#include "persist/fields.hpp"

namespace agentcore::detail::persist {

template <typename Io, Of<turn::StoredGrant> T>
void fields(Io& io, T& grant) {
  auto& covers = grant.covers;
  io.need("id", grant.id);
  io.need("tool", covers.tool);
  io.number("scope", grant.scope, GrantScope::agent, GrantScope::subtree);
  io.field("window", covers.window_id);
  io.field("description", covers.description);
  io.field("parameters", covers.parameters);
  io.number("mode", covers.mode, ToolMode::sync, ToolMode::async);
  io.field("arguments", covers.arguments);
  io.field("key", covers.key);
}

std::string to_json(const turn::StoredGrant& grant) {
  return FieldWriter::json_of(grant);
}

turn::StoredGrant read_grant(std::string_view text) {
  return record_of<turn::StoredGrant>(text);
}

}  // namespace agentcore::detail::persist
