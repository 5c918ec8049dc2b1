// The implementation of ToolRegistry: tools and actions, found by the name that a model calls.
#pragma once

#include "schema/schema.hpp"
#include "tools/action_call.hpp"

#include <agentcore/event.hpp>
#include <agentcore/tool_registry.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore {
namespace detail::loop {
class Engine;
}

namespace detail::tools {

inline constexpr std::string_view launcher_id = "launcher";
inline constexpr std::string_view close_action = "close";

using detail::schema::Schema;

struct Entry {
  std::shared_ptr<const Tool> tool;
  std::shared_ptr<const Schema> schema;
};

// A tool that was looked up, or why there is none. It does not change when the registry changes.
struct Found {
  Entry entry;
  std::string error;
};

struct OpenWindow {
  Window window;               // without its actions
  std::vector<Entry> actions;  // `close` included, if it is closable
  std::uint64_t number = 0;    // never used again
};

// "<window>__<action>", or the plain name, in the characters that providers accept: other bytes than A-Z a-z
// 0-9 _ - are replaced, and a name that was changed or is too long gets a hash.
std::string native_name(std::string_view window_id, std::string_view action_id);

// The registry of an agent; an empty one for agents without tools.
const ToolRegistry::Impl& registry_of(const SharedOrBorrowed<ToolRegistry>& registry);

}  // namespace detail::tools

struct ToolRegistry::Impl {
  Impl(ToolRegistry& of, LaunchHandler handler);

  // From now on the functions of the registry refuse other threads than that of this loop. A registry has the
  // loop of the first agent that uses it, as long as its Runtime exists.
  void use(const std::shared_ptr<detail::loop::Engine>& engine) noexcept;
  // True, and logged, on another thread. See loop::Engine::refuses_thread().
  bool refuses_thread(const char* function) const noexcept;

  // Errors are worded for the model (Y9).
  detail::tools::Found find(std::string_view window_id, std::string_view action_id) const;
  detail::tools::OpenWindow* find_window(std::string_view id);
  const detail::tools::OpenWindow* find_window(std::string_view id) const;

  // After a call of `action` gave its result: opens the application that the result names, closes the window
  // of the action if the result, or the window, requests it; the result of the action `close` does. A launch
  // that fails makes the result a failed one. Runs the host's launch handler. Returns why the window was
  // closed; nothing if it is open.
  std::optional<WindowCloseReason> follow_up(detail::loop::Engine& engine, const Agent& agent,
                                             std::string_view window_id, std::string_view action,
                                             ToolResult& result);

  // True if a tool or action already has that name in the native protocol. The launcher's `open` always
  // exists.
  bool is_taken(std::string_view native) const;

  // Runs the host's launch handler. Returns why the application was not opened; "" if it was.
  std::string open_application(detail::loop::Engine& engine, const Agent& agent, const Launch& wanted);
  void ensure_launcher();
  bool close(std::string_view window_id);

  ToolRegistry& registry;
  std::weak_ptr<detail::loop::Engine> loop;
  LaunchHandler launch;
  std::vector<detail::tools::Entry> plain;
  std::vector<detail::tools::OpenWindow> windows;  // `launcher` first
  std::uint64_t last_number = 0;
};

}  // namespace agentcore
