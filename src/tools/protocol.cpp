#include "tools/protocol.hpp"

#include "tools/block_protocol.hpp"
#include "tools/native_protocol.hpp"

namespace agentcore::tools {

const Protocol& protocol_of(ToolProtocol kind) noexcept {
  static const NativeProtocol native;
  static const BlockProtocol block;
  return kind == ToolProtocol::text ? static_cast<const Protocol&>(block) : native;
}

std::string text_of(const ToolResult& result) {
  std::string text = result.success ? result.message : "error: " + result.message;
  if (!result.data.empty()) text += (text.empty() ? "" : "\n") + result.data;
  return text;
}

}  // namespace agentcore::tools
