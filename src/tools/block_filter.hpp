// BlockFilter: an answer without its <tool_call> blocks, while it comes in pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::tools {

// Agrees with parse_tool_text() on where a block begins and ends. A block that has no end reaches to the end
// of the answer.
class BlockFilter {
 public:
  // What of `piece`, and of the pieces before, is now known to be words. A beginning of a tag at the end of
  // `piece` is held back until the next one decides.
  std::string pass(std::string_view piece);

  // The answer is over: what was held back, if it is words after all.
  std::string finish();

 private:
  bool inside_ = false;       // a block
  std::size_t matching_ = 0;  // bytes of the next tag that the last piece ended with
};

// The same for a whole answer, and without the blanks at its end.
std::string without_blocks(std::string_view answer);

}  // namespace agentcore::tools
