// Tool calls as a model writes them in the text protocol (ToolProtocol::text), well and badly.
#pragma once

#include <agentcore/chat.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

struct WrittenCalls {
  std::string text;              // all of the answer
  std::vector<ToolCall> calls;   // that it makes, in their order; none: it cannot be read, or has no block
  bool has_known_params = true;  // each of them has the arguments that `calls` says
};

// True for a request to a model that is to write its calls as blocks in the text.
bool asks_for_blocks(std::string_view request);

// `form`: which of the forms that a model may use; some of them are cut off, or are no calls.
WrittenCalls write_calls(std::vector<ToolCall> calls, std::uint32_t form);

// The text in pieces, as a stream brings it. `how`: 0: in one; else of some bytes each.
std::vector<std::string> pieces_of(const std::string& text, std::uint32_t how);

}  // namespace agentcore::sim
