// The provider's function calls: an action of a window is the function <window>__<action>.
#include "tools/native_protocol.hpp"

#include "tools/windows_text.hpp"

namespace agentcore::detail::tools {
namespace {

void describe(const Entry& entry, const OpenWindow* window, std::vector<ToolDescription>& tools) {
  const ToolSpec& spec = entry.tool->spec;
  const std::string_view id = window ? std::string_view(window->window.id) : std::string_view();
  std::string description = spec.description;
  if (window) description += (description.empty() ? "On window " : " On window ") + window->window.id + ".";
  tools.push_back({native_name(id, spec.name), std::move(description), spec.parameters});
}

}  // namespace

// Actions of windows come and go, so they stand behind the plain tools.
void NativeProtocol::write(const ToolRegistry::Impl& registry, const Shown& shown, VolatilePlace place,
                           ChatRequest& request) const {
  for (const Entry& entry : registry.plain) describe(entry, nullptr, request.tools);
  for (const OpenWindow& open : registry.windows)
    for (const Entry& entry : open.actions) describe(entry, &open, request.tools);
  append_volatile(request, place, windows_text(registry, shown));
}

ReadAnswer NativeProtocol::read(const ToolRegistry::Impl& registry, std::string_view text,
                                const std::vector<ToolCall>& calls) const {
  ReadAnswer answer;
  answer.words = text;
  for (const ToolCall& call : calls) answer.calls.push_back(resolve(registry, call));
  return answer;
}

}  // namespace agentcore::detail::tools
