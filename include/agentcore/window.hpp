// Window: a part of the user interface that a model sees and acts on.
#pragma once

#include <agentcore/tool.hpp>

#include <string>
#include <vector>

namespace agentcore {

/// A part of the user interface of the host, as the model sees it: a text, and actions, which are tools that
/// belong to the window. Open it with ToolRegistry::open().
///
///     agentcore::Window notes;
///     notes.id = "notes";
///     notes.content = "(empty)";
///     notes.actions = {agentcore::make_tool({.name = "clear"}, [](const nlohmann::json&,
///                                                                 const agentcore::ToolContext&) {
///       return agentcore::ToolResult::done("cleared");
///     })};
///     tools->open(std::move(notes));
struct Window {
  /// The id: 1 to 64 bytes of UTF-8, without "__", without control characters, and without blanks at the
  /// ends. `launcher` and `tools` are reserved.
  std::string id = {};
  /// What the window is for, in UTF-8.
  std::string description = {};
  /// The text that the window shows, in UTF-8. ToolRegistry::set_content() replaces it.
  std::string content = {};
  /// The actions, each with a name that is unique within the window. `close` is reserved.
  std::vector<Tool> actions = {};
  /// True: the model may close the window, with the action `close`.
  bool closable = true;
  /// True: the window closes after an action with success, even if it is not closable.
  bool auto_close_on_action = false;
  /// True: the window is never removed from the context of the model.
  bool pinned = false;
  /// True: the window is removed from the context only after the oldest turns. False: in the order of age
  /// together with the oldest turns.
  bool important = true;
};

}  // namespace agentcore
