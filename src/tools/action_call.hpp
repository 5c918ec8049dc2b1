// ActionCall: one call of a tool or action by a model.
#pragma once

#include <string>
#include <string_view>

namespace agentcore::detail::tools {

// The window id of ordinary tools in the text protocol, where each call names a window.
inline constexpr std::string_view plain_tools_id = "tools";

// One call of an action of a window, or of an ordinary tool, which has no window. The action decides, not the
// model, if it runs at once or in the background (J9).
struct ActionCall {
  std::string id;         // unique within the agent's history
  std::string window_id;  // empty: an ordinary tool
  std::string action_id;
  std::string params;           // the text of a JSON object; empty: none were given, or they were no object.
                                // In a history that the host supplied: any text.
  bool has_odd_params = false;  // they were given, and are no object

  bool operator==(const ActionCall&) const = default;
};

}  // namespace agentcore::detail::tools
