// Anthropic Messages: the reader of answers and its assemblers.
#include "reader.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return agentcore::fuzz::read_answers(agentcore::detail::llm::anthropic_messages(), data, size);
}
