#include "tools/windows_text.hpp"

#include "core/message_items.hpp"

#include <cstddef>

namespace agentcore::detail::tools {
namespace {

void append_paragraph(std::string& text, const std::string& paragraph) {
  text += (text.empty() ? "" : "\n\n") + paragraph;
}

}  // namespace

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
  if (request.messages.empty() || request.messages.front().role != Role::system) {
    request.messages.insert(request.messages.begin(), {Role::system, {}});
    for (std::size_t& end : request.sent_before) ++end;
  }
  append_paragraph(core::first_text(request.messages.front()), text);
}

void append_volatile(ChatRequest& request, VolatilePlace place, const std::string& text) {
  if (place == VolatilePlace::system_prompt) return append_to_system(request, text);
  if (!text.empty()) append_paragraph(request.tail, text);
}

}  // namespace agentcore::detail::tools
