#include "tools/registry.hpp"

#include "core/utf8.hpp"
#include "core/validate.hpp"
#include "core/without_exceptions.hpp"
#include "loop/engine.hpp"
#include "tools/contain.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace {

using detail::loop::wrong_thread;
using detail::tools::Entry;
using detail::tools::Found;
using detail::tools::OpenWindow;
using nlohmann::json;

constexpr std::size_t max_name_bytes = 64;

bool is_name_byte(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

bool is_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= max_name_bytes &&
         std::all_of(name.begin(), name.end(), is_name_byte);
}

Entry checked(Tool tool) {
  const std::string& name = tool.spec.name;
  if (!is_name(name))
    throw std::invalid_argument("ToolSpec::name must be 1 to 64 of the characters A-Z a-z 0-9 _ -, and is '" +
                                name + "'");
  if (!tool.start) throw std::invalid_argument("the tool '" + name + "' has no function; set Tool::start");
  if (!detail::core::is_utf8(tool.spec.description))
    throw std::invalid_argument("the description of the tool '" + name + "' is not UTF-8");
  detail::core::Validation("the tool '" + name + "': ToolSpec")
      .not_negative("timeout", tool.spec.timeout.value_or(Duration::zero()))
      .raise();
  auto schema = detail::schema::Schema::parse(tool.spec.parameters);
  if (!schema)
    throw std::invalid_argument("the parameters of the tool '" + name + "': " + schema.error().message);
  return {std::make_shared<const Tool>(std::move(tool)), *schema};
}

const Entry* find_entry(const std::vector<Entry>& entries, std::string_view name) noexcept {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry& entry) { return entry.tool->spec.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// The id is part of a line of the system message, and of calls, which are read without the blanks around it.
bool is_window_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= max_name_bytes && detail::core::is_utf8(id) && id.front() != ' ' &&
         id.back() != ' ' && std::none_of(id.begin(), id.end(), is_control) &&
         id.find("__") == std::string_view::npos;
}

Tool open_tool() {
  ToolSpec spec;
  spec.name = "open";
  spec.description = "Opens an application.";
  spec.parameters =
      R"({"type":"object","properties":{"app":{"type":"string"},"target":{}},"required":["app"]})";
  return make_tool(std::move(spec), [](const json& arguments, const ToolContext&) {
    Launch launch{arguments.at("app").get<std::string>()};
    if (arguments.contains("target")) launch.target = arguments["target"].dump();
    ToolResult result = ToolResult::done("launched " + launch.app);
    result.launch = std::move(launch);
    return result;
  });
}

// `impl` outlives the call: the agent that makes it holds the registry.
Tool close_tool(ToolRegistry::Impl& impl, std::string window_id) {
  ToolSpec spec;
  spec.name = detail::tools::close_action;
  spec.description = "Closes the window.";
  spec.parameters =
      R"({"type":"object","properties":{"summary":{"type":"string"}},"additionalProperties":false})";
  return make_tool(std::move(spec),
                   [&impl, id = std::move(window_id)](const json& arguments, const ToolContext&) {
                     if (!impl.find_window(id))
                       return ToolResult::failed("Window '" + display(id) + "' does not exist");
                     ToolResult result = ToolResult::done("closed");
                     result.close_source = true;  // follow_up() closes it
                     result.summary = arguments.value("summary", std::string());
                     return result;
                   });
}

}  // namespace

namespace detail::tools {

const ToolRegistry::Impl& registry_of(const SharedOrBorrowed<ToolRegistry>& registry) {
  static const ToolRegistry none;
  return registry ? registry->impl() : none.impl();
}

std::string native_name(std::string_view window_id, std::string_view action_id) {
  const std::string wanted =
      window_id.empty() ? std::string(action_id) : std::string(window_id) + "__" + std::string(action_id);
  std::string name = wanted;
  for (char& c : name)
    if (!is_name_byte(c)) c = '_';
  if (name == wanted && name.size() <= max_name_bytes) return name;
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : wanted) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  char suffix[10];
  std::snprintf(suffix, sizeof suffix, "_%08x", static_cast<unsigned>(hash));
  name.resize(std::min(name.size(), max_name_bytes - 9));
  return name + suffix;
}

}  // namespace detail::tools

void ToolRegistry::Impl::use(const std::shared_ptr<detail::loop::Engine>& engine) noexcept {
  if (const auto present = loop.lock(); !present || present->closed()) loop = engine;
}

bool ToolRegistry::Impl::refuses_thread(const char* function) const noexcept {
  return detail::loop::refuses_thread(loop, function);
}

ToolRegistry::Impl::Impl(ToolRegistry& of, LaunchHandler handler) : registry(of), launch(std::move(handler)) {
  if (launch) ensure_launcher();
}

OpenWindow* ToolRegistry::Impl::find_window(std::string_view id) {
  const auto found = std::find_if(windows.begin(), windows.end(),
                                  [&](const OpenWindow& open) { return open.window.id == id; });
  return found == windows.end() ? nullptr : &*found;
}

const OpenWindow* ToolRegistry::Impl::find_window(std::string_view id) const {
  return const_cast<Impl*>(this)->find_window(id);
}

Found ToolRegistry::Impl::find(std::string_view window_id, std::string_view action_id) const {
  const std::string action(action_id);
  const std::string id(window_id);
  if (id.empty() || id == detail::tools::plain_tools_id) {
    if (const Entry* entry = find_entry(plain, action)) return {*entry, {}};
    return {{}, "Tool '" + display(action) + "' does not exist"};
  }
  const OpenWindow* const open = find_window(id);
  if (!open) return {{}, "Window '" + display(id) + "' does not exist"};
  if (const Entry* entry = find_entry(open->actions, action)) return {*entry, {}};
  if (action == detail::tools::close_action) return {{}, "Window '" + id + "' cannot be closed"};
  return {{}, "Action '" + display(action) + "' does not exist on window '" + id + "'"};
}

bool ToolRegistry::Impl::is_taken(std::string_view native) const {
  if (native == detail::tools::native_name(detail::tools::launcher_id, "open") || find_entry(plain, native))
    return true;
  return std::any_of(windows.begin(), windows.end(), [&](const OpenWindow& open) {
    return std::any_of(open.actions.begin(), open.actions.end(), [&](const Entry& entry) {
      return detail::tools::native_name(open.window.id, entry.tool->spec.name) == native;
    });
  });
}

void ToolRegistry::Impl::ensure_launcher() {
  if (find_window(detail::tools::launcher_id)) return;
  OpenWindow open;
  open.window.id = detail::tools::launcher_id;
  open.window.description = "Opens applications. It is always there.";
  open.window.closable = false;
  open.window.pinned = true;
  open.actions.push_back(checked(open_tool()));
  open.number = ++last_number;
  windows.insert(windows.begin(), std::move(open));
}

bool ToolRegistry::Impl::close(std::string_view window_id) {
  if (window_id == detail::tools::launcher_id) return false;
  return std::erase_if(windows, [&](const OpenWindow& open) { return open.window.id == window_id; }) != 0;
}

std::string ToolRegistry::Impl::open_application(detail::loop::Engine& engine, const Agent& agent,
                                                 const Launch& wanted) {
  if (wanted.app.empty()) return "launch command missing app name";
  if (!launch) return "launch failed: this host opens no applications";
  const auto thrown = detail::tools::contain(engine, "a LaunchHandler",
                                             [&] { launch(registry, agent, wanted.app, wanted.target); });
  if (!thrown) return {};
  return "launch failed: " +
         std::string(detail::core::first_characters(detail::core::valid_utf8(*thrown), 500));
}

std::optional<WindowCloseReason> ToolRegistry::Impl::follow_up(detail::loop::Engine& engine,
                                                               const Agent& agent, std::string_view window_id,
                                                               std::string_view action, ToolResult& result) {
  if (!result.success) return std::nullopt;
  // The present window of that id: the launch may open another one with the same id.
  const OpenWindow* const source = find_window(window_id);
  const std::uint64_t number = source ? source->number : 0;
  if (result.launch) {
    std::string why = open_application(engine, agent, *result.launch);
    if (!why.empty()) {
      result.success = false;
      result.message = std::move(why);
      return std::nullopt;
    }
  }
  // An action closes only a window that the model could close, too (K10 does not mention the launcher).
  const bool closed = std::erase_if(windows, [&](const OpenWindow& open) {
                        return open.number == number && (open.window.auto_close_on_action ||
                                                         (result.close_source && open.window.closable));
                      }) != 0;
  const bool by_close = action == detail::tools::close_action;
  if (by_close) result.close_source = false;  // it is how that action closes, and no part of its result
  if (!closed) return std::nullopt;
  if (by_close) return WindowCloseReason::action;
  return result.close_source ? WindowCloseReason::by_result : WindowCloseReason::after_action;
}

ToolRegistry::ToolRegistry(LaunchHandler launch) : impl_(std::make_unique<Impl>(*this, std::move(launch))) {
}
ToolRegistry::~ToolRegistry() = default;

void ToolRegistry::add(Tool tool) {
  if (impl_->refuses_thread("ToolRegistry::add")) return;
  Entry entry = checked(std::move(tool));
  const std::string& name = entry.tool->spec.name;
  if (impl_->is_taken(name))
    throw std::invalid_argument("a tool, or an action of a window, with the name '" + name +
                                "' exists already");
  impl_->plain.push_back(std::move(entry));
}

Result<void> ToolRegistry::try_add(Tool tool) {
  if (impl_->refuses_thread("ToolRegistry::try_add")) return wrong_thread("ToolRegistry::try_add");
  return detail::core::without_exceptions([&] { return add(std::move(tool)), Result<void>(); });
}

bool ToolRegistry::remove(std::string_view name) {
  if (impl_->refuses_thread("ToolRegistry::remove")) return false;
  return std::erase_if(impl_->plain, [&](const Entry& entry) { return entry.tool->spec.name == name; }) != 0;
}

std::vector<std::string> ToolRegistry::names() const {
  if (impl_->refuses_thread("ToolRegistry::names")) return {};
  std::vector<std::string> all;
  for (const Entry& entry : impl_->plain) all.push_back(entry.tool->spec.name);
  return all;
}

void ToolRegistry::open(Window window) {
  if (impl_->refuses_thread("ToolRegistry::open")) return;
  const std::string id = window.id;
  if (!is_window_id(id) || id == detail::tools::launcher_id || id == detail::tools::plain_tools_id)
    throw std::invalid_argument(
        "Window::id must be 1 to 64 bytes of UTF-8, without '__', control characters and blanks at its ends, "
        "must not be 'launcher' or 'tools', and is '" +
        id + "'");
  if (impl_->find_window(id))
    throw std::invalid_argument("a window with the id '" + id + "' is open already");
  if (!detail::core::is_utf8(window.description) || !detail::core::is_utf8(window.content))
    throw std::invalid_argument("the text of the window '" + id + "' is not UTF-8");
  OpenWindow open;
  for (Tool& action : window.actions) {
    if (action.spec.name == detail::tools::close_action)
      throw std::invalid_argument("the window '" + id +
                                  "' has an action 'close', a reserved name; set Window::closable instead");
    if (find_entry(open.actions, action.spec.name))
      throw std::invalid_argument("the window '" + id + "' has two actions '" + action.spec.name + "'");
    open.actions.push_back(checked(std::move(action)));
  }
  if (window.closable) open.actions.push_back(checked(close_tool(*impl_, id)));
  for (const Entry& entry : open.actions)
    if (const std::string native = detail::tools::native_name(id, entry.tool->spec.name);
        impl_->is_taken(native))
      throw std::invalid_argument("a tool, or an action of a window, with the name '" + native +
                                  "' exists already");
  window.actions.clear();
  open.window = std::move(window);
  open.number = ++impl_->last_number;
  impl_->ensure_launcher();
  impl_->windows.push_back(std::move(open));
}

Result<void> ToolRegistry::try_open(Window window) {
  if (impl_->refuses_thread("ToolRegistry::try_open")) return wrong_thread("ToolRegistry::try_open");
  return detail::core::without_exceptions([&] { return open(std::move(window)), Result<void>(); });
}

bool ToolRegistry::close(std::string_view window_id) {
  if (impl_->refuses_thread("ToolRegistry::close")) return false;
  return impl_->close(window_id);
}

bool ToolRegistry::set_content(std::string_view window_id, std::string content) {
  if (impl_->refuses_thread("ToolRegistry::set_content")) return false;
  OpenWindow* const open = impl_->find_window(window_id);
  if (!open) return false;
  if (!detail::core::is_utf8(content))
    throw std::invalid_argument("the content of the window '" + std::string(window_id) + "' is not UTF-8");
  open->window.content = std::move(content);
  return true;
}

Result<bool> ToolRegistry::try_set_content(std::string_view window_id, std::string content) {
  if (impl_->refuses_thread("ToolRegistry::try_set_content"))
    return wrong_thread("ToolRegistry::try_set_content");
  return detail::core::without_exceptions(
      [&]() -> Result<bool> { return set_content(window_id, std::move(content)); });
}

std::vector<std::string> ToolRegistry::windows() const {
  if (impl_->refuses_thread("ToolRegistry::windows")) return {};
  std::vector<std::string> all;
  for (const OpenWindow& open : impl_->windows) all.push_back(open.window.id);
  return all;
}

}  // namespace agentcore
