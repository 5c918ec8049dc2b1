#include "tools/block_filter.hpp"

#include "tools/text_protocol.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tools {

std::string BlockFilter::pass(std::string_view piece) {
  std::string words;
  while (!piece.empty()) {
    const std::string_view tag = inside_ ? block_end : block_begin;
    if (matching_ == 0) {
      const std::size_t before = std::min(piece.find(tag.front()), piece.size());
      if (!inside_) words += piece.substr(0, before);
      piece.remove_prefix(before);
      if (piece.empty()) break;
    }
    if (piece.front() == tag[matching_]) {
      piece.remove_prefix(1);
      if (++matching_ < tag.size()) continue;
      matching_ = 0;
      inside_ = !inside_;
    } else {
      // These bytes are not a tag. The first byte of a tag occurs in it only once, so no tag begins within
      // them.
      if (!inside_) words += tag.substr(0, matching_);
      matching_ = 0;
    }
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
