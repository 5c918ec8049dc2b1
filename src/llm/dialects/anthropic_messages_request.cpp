// Anthropic Messages: how a request is written.
#include "llm/dialects/wire_format.hpp"

namespace agentcore::llm {

const WireFormat& anthropic_messages() noexcept {
  return openai_chat();
}

}  // namespace agentcore::llm
