#include "tools/protocol.hpp"

#include "tools/block_protocol.hpp"
#include "tools/native_protocol.hpp"

namespace agentcore::detail::tools {
namespace {

constexpr std::string_view error_mark = "error: ";

}  // namespace

const Protocol& protocol_of(ToolProtocol kind) noexcept {
  static const NativeProtocol native;
  static const BlockProtocol block;
  return kind == ToolProtocol::text ? static_cast<const Protocol&>(block) : native;
}

AskedCall resolve(const ToolRegistry::Impl& registry, const ToolCall& call) {
  for (const Entry& entry : registry.plain)
    if (entry.tool->spec.name == call.name) return {call, call.name};
  for (const OpenWindow& open : registry.windows) {
    for (const Entry& entry : open.actions) {
      if (native_name(open.window.id, entry.tool->spec.name) != call.name) continue;
      AskedCall asked{call, entry.tool->spec.name};
      asked.call.window_id = open.window.id;
      asked.call.action_id = entry.tool->spec.name;
      return asked;
    }
  }
  // A window that is closed by now, or an action that it never had: the error must name which (Y9).
  AskedCall asked{call, call.name};
  if (const auto at = call.name.find("__"); at != std::string::npos && at > 0 && !registry.windows.empty()) {
    asked.call.window_id = call.name.substr(0, at);
    asked.action_id = call.name.substr(at + 2);
  }
  return asked;
}

std::string text_of(const ToolResult& result) {
  std::string text = result.success ? result.message : std::string(error_mark) + result.message;
  if (!result.data.empty()) text += (text.empty() ? "" : "\n") + result.data;
  return text;
}

std::string message_of(std::string text, bool success) {
  if (!success && text.starts_with(error_mark)) text.erase(0, error_mark.size());
  return text;
}

}  // namespace agentcore::detail::tools
