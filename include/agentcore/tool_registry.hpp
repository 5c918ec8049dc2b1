// ToolRegistry: the tools that agents may call, and the windows that their models see.
#pragma once

#include <agentcore/export.hpp>
#include <agentcore/fwd.hpp>
#include <agentcore/tool.hpp>
#include <agentcore/window.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

/// Opens an application for the model. Called for the action `open` of the launcher, and for each tool result
/// that sets ToolResult::launch. Called on the loop thread. `registry` is the registry of the agent; usually
/// the handler opens a window in it. `app` is Launch::app. `target` is the text of a JSON value, or empty. If
/// the handler throws, the call fails. Without a handler in the registry, the call fails, too.
using LaunchHandler = std::function<void(ToolRegistry& registry, const Agent& agent, std::string_view app,
                                         std::string_view target)>;

/// The tools and windows of the agents whose AgentSpec::tools refers to this registry. Several agents may
/// share it. Tools and windows can be added and removed at any time, even while they are in use: a call that
/// runs keeps its tool.
///
///     auto tools = std::make_shared<agentcore::ToolRegistry>();
///     tools->add(agentcore::make_ask_human_tool());
///     agentcore::Window notes;
///     notes.id = "notes";
///     notes.content = "(empty)";
///     tools->open(std::move(notes));
///     agentcore::Agent agent = tree.create({.tools = tools}).value();
///
/// Names. The action `save` of the window `notes` uses the name `notes__save`. Where that name is longer than
/// 64 characters, or has characters that the name of a tool must not have, it is shortened, these characters
/// are replaced, and a hash is added. All names of a registry are unique.
///
/// All functions are for the loop thread: once an agent uses the registry, they do nothing on another thread
/// (see Runtime), and try_...() return `wrong_thread`. They throw std::invalid_argument for a tool or window
/// that cannot be registered: a name that is taken or not allowed, a schema that is not valid, a text that is
/// not UTF-8, a negative time-out, or a tool without ToolStart.
/// @loop_thread
class AGENTCORE_API ToolRegistry {
 public:
  /// `launch` opens applications for the model. The registry has the window `launcher`, with the action
  /// `open`, if `launch` is not empty, or as soon as another window was opened. The launcher cannot be
  /// closed.
  explicit ToolRegistry(LaunchHandler launch = {});
  /// Destroys the tools and windows. The agents that use the registry keep it alive.
  /// @loop_thread
  ~ToolRegistry();
  ToolRegistry(const ToolRegistry&) = delete;
  ToolRegistry& operator=(const ToolRegistry&) = delete;

  /// Adds an ordinary tool: one that belongs to no window.
  void add(Tool tool);
  /// As add(), for hosts without exceptions. Errors: invalid_config, out_of_memory.
  Result<void> try_add(Tool tool);
  /// Removes an ordinary tool. Returns false if there is no tool of that name.
  bool remove(std::string_view name);
  /// The names of the ordinary tools, in the order of adding.
  std::vector<std::string> names() const;

  /// Opens a window.
  void open(Window window);
  /// As open(), for hosts without exceptions. Errors: invalid_config, out_of_memory.
  Result<void> try_open(Window window);
  /// Closes a window, even one that the model may not close. Returns false if there is no window of that id,
  /// and for the launcher, which stays open.
  bool close(std::string_view window_id);
  /// Replaces Window::content. Returns false if there is no window of that id.
  bool set_content(std::string_view window_id, std::string content);
  /// As set_content(), for hosts without exceptions. Errors: invalid_config, out_of_memory.
  Result<bool> try_set_content(std::string_view window_id, std::string content);
  /// The ids of the open windows: `launcher` first, then the others in the order of opening.
  std::vector<std::string> windows() const;

  /// Internal: used by the other parts of the library (declared in src/tools/registry.hpp).
  struct Impl;
  /// Internal.
  Impl& impl() noexcept { return *impl_; }
  /// Internal.
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
