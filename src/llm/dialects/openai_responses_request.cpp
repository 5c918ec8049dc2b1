// OpenAI Responses: how a request is written.
#include "llm/dialects/wire_format.hpp"

namespace agentcore::llm {

const WireFormat& openai_responses() noexcept {
  return openai_chat();
}

}  // namespace agentcore::llm
