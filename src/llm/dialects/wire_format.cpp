#include "llm/dialects/wire_format.hpp"

namespace agentcore {

std::string_view to_string(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::openai_chat:
      return "openai_chat";
    case Dialect::openai_responses:
      return "openai_responses";
    case Dialect::anthropic_messages:
      return "anthropic_messages";
  }
  return "";
}

namespace llm {

bool goes_back(const ReasoningBlock& block, Dialect dialect, std::string_view server) noexcept {
  return block.dialect == to_string(dialect) && (block.server.empty() || block.server == server);
}

const WireFormat& wire_format(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::openai_responses:
      return openai_responses();
    case Dialect::anthropic_messages:
      return anthropic_messages();
    default:
      return openai_chat();
  }
}

}  // namespace llm
}  // namespace agentcore
