// BlockFilter: removes the <tool_call> blocks from an answer that arrives in pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::tools {

// Uses the same rules as parse_tool_text() for where a block begins and ends. A block without an end extends
// to the end of the answer.
class BlockFilter {
 public:
  // Takes the next piece. Returns the text that is now known to be outside of blocks. If `piece` ends with
  // the possible beginning of a tag, that beginning is held back until the next piece decides.
  std::string pass(std::string_view piece);

  // The answer has ended. Returns the text that was held back, if it is outside of blocks.
  std::string finish();

 private:
  bool inside_ = false;       // of a block
  std::size_t matching_ = 0;  // how many bytes of the next tag the last piece ended with
};

// The same for a whole answer, and without the blanks at its end.
std::string without_blocks(std::string_view answer);

}  // namespace agentcore::detail::tools
