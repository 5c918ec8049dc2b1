#include "tools/block_filter.hpp"

#include "tools/text_protocol.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tools {

std::size_t BlockEnd::feed(std::string_view piece) noexcept {
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const char c = piece[i];
    if (in_string_) {
      if (std::exchange(escaped_, !escaped_ && c == '\\')) continue;
      in_string_ = c != '"';
    } else if (c == block_end[matching_]) {
      if (++matching_ == block_end.size()) return i + 1;
    } else {
      // The first byte of the tag occurs in it only once.
      matching_ = c == block_end.front() ? 1 : 0;
      in_string_ = c == '"';
    }
  }
  return not_yet;
}

std::string BlockFilter::pass(std::string_view piece) {
  std::string words;
  while (!piece.empty()) {
    if (inside_) {
      const std::size_t end = end_.feed(piece);
      if (end == BlockEnd::not_yet) break;
      piece.remove_prefix(end);
      inside_ = false;
      continue;
    }
    if (matching_ == 0) {
      const std::size_t before = std::min(piece.find(block_begin.front()), piece.size());
      words += piece.substr(0, before);
      piece.remove_prefix(before);
      if (piece.empty()) break;
    }
    if (piece.front() == block_begin[matching_]) {
      piece.remove_prefix(1);
      if (++matching_ < block_begin.size()) continue;
      inside_ = true;
      end_ = {};
    } else {
      // These bytes are not a tag. The first byte of a tag occurs in it only once, so no tag begins within
      // them.
      words += block_begin.substr(0, matching_);
    }
    matching_ = 0;
  }
  return words;
}

std::string BlockFilter::finish() {
  const std::size_t held = std::exchange(matching_, 0);
  return inside_ ? std::string() : std::string(block_begin.substr(0, held));
}

std::string without_blocks(std::string_view answer) {
  BlockFilter filter;
  std::string words = filter.pass(answer);
  words += filter.finish();
  const auto last = words.find_last_not_of(" \t\r\n");
  words.resize(last == std::string::npos ? 0 : last + 1);
  return words;
}

}  // namespace agentcore::detail::tools
