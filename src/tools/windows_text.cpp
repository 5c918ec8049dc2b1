#include "tools/windows_text.hpp"

namespace agentcore::detail::tools {

std::string window_text(const OpenWindow& open) {
  std::string text = "## Window " + open.window.id + "\n";
  if (!open.window.description.empty()) text += open.window.description + "\n";
  if (!open.window.content.empty()) text += open.window.content + "\n";
  return text;
}

std::string windows_text(const ToolRegistry::Impl& registry, const Protocol::Shown& shown) {
  std::string text;
  for (const OpenWindow& open : registry.windows)
    if (shown(open.number)) text += "\n" + window_text(open);
  return text.empty() ? text : "# Windows that are open now\n" + text;
}

void append_to_system(ChatRequest& request, const std::string& text) {
  if (text.empty()) return;
  if (request.messages.empty() || request.messages.front().role != Role::system)
    request.messages.insert(request.messages.begin(), {Role::system, {}});
  std::string& system = request.messages.front().content;
  system += (system.empty() ? "" : "\n\n") + text;
}

}  // namespace agentcore::detail::tools
