// BlockFilter: removes the <tool_call> blocks from an answer that arrives in pieces.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::tools {

// Finds the end of a block in its content: the first </tool_call> outside of the JSON strings in it.
class BlockEnd {
 public:
  static constexpr std::size_t not_yet = static_cast<std::size_t>(-1);

  // Takes the next piece of the content. Returns the number of its bytes up to the end of the end tag, or
  // `not_yet`.
  std::size_t feed(std::string_view piece) noexcept;
  bool in_string() const noexcept { return in_string_; }

 private:
  bool in_string_ = false;    // a JSON string is open
  bool escaped_ = false;      // its last character was a backslash that escapes the next one
  std::size_t matching_ = 0;  // how many bytes of the end tag the last piece ended with
};

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
  BlockEnd end_;              // of that block
  std::size_t matching_ = 0;  // how many bytes of the tag of a beginning the last piece ended with
};

// The same for a whole answer, and without the blanks at its end.
std::string without_blocks(std::string_view answer);

}  // namespace agentcore::detail::tools
