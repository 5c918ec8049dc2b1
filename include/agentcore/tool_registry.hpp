// ToolRegistry: the tools that agents may call, and the windows with actions that they see.
#pragma once

#include <agentcore/fwd.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {

// A piece of the host's screen as a model sees it: a text, and actions, which are tools that belong to it.
struct Window {
  // 1 to 64 bytes of UTF-8, without "__", control characters and blanks at its ends; `launcher` and `tools`
  // are taken.
  std::string id = {};
  std::string description = {};
  std::string content = {};
  std::vector<Tool> actions = {};     // by their names; `close` is taken
  bool closable = true;               // may the model close it, by the action `close`
  bool auto_close_on_action = false;  // it closes after an action that succeeded, closable or not
  bool pinned = false;                // never trimmed out of what a model sees
  bool important = true;              // trimmed only after the oldest turns
};

// Opens an application for the model: what the launcher's action `open` leads to, and any other tool whose
// result sets ToolResult::launch. `target` is the text of a JSON value, or empty. Called on the loop thread;
// usually it opens a window in `registry`, which is the agent's. If it throws, the call fails.
using LaunchHandler = std::function<void(ToolRegistry& registry, const Agent& agent, std::string_view app,
                                         std::string_view target)>;

// Shared by the agents that name it in their AgentSpec. Ordinary tools and windows may come and go at any
// time, also while they are in use: a call that runs keeps its tool. All functions are @loop_thread, and
// throw std::invalid_argument for what cannot be registered: a name that is taken or not allowed, a schema
// that is none. The action `save` of the window `notes` takes the name `notes__save`.
class ToolRegistry {
 public:
  // With a `launch` handler, or once it had a window, the registry has the window `launcher`, with the action
  // `open`, which cannot be closed.
  explicit ToolRegistry(LaunchHandler launch = {});
  ~ToolRegistry();
  ToolRegistry(const ToolRegistry&) = delete;
  ToolRegistry& operator=(const ToolRegistry&) = delete;

  void add(Tool tool);
  bool remove(std::string_view name);      // false: there is none
  std::vector<std::string> names() const;  // of ordinary tools, in the order of adding

  void open(Window window);
  bool close(std::string_view window_id);  // whether the model could, or not; the launcher stays: false
  bool set_content(std::string_view window_id, std::string content);
  std::vector<std::string> windows() const;  // in the order of opening, `launcher` first

  // What the library's own parts build on (declared in src/tools/registry.hpp).
  struct Impl;
  Impl& impl() noexcept { return *impl_; }
  const Impl& impl() const noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace agentcore
