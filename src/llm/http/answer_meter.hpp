// AnswerMeter: estimates the tokens of the part of an answer that was received, for calls that end before
// their provider has sent its counts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace agentcore::detail::llm {

// Most servers send each token in a piece of its own, so the number of pieces is the estimate. But pieces may
// be larger (batches of tokens) or smaller (single letters). So the bytes bound it: at least one token for 4
// bytes, at most one for 2.
class AnswerMeter {
 public:
  void add(std::string_view piece) noexcept {
    if (piece.empty()) return;
    bytes_ += piece.size();
    ++pieces_;
  }

  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t tokens() const noexcept { return std::clamp(pieces_, (bytes_ + 3) / 4, (bytes_ + 1) / 2); }

 private:
  std::uint64_t bytes_ = 0;
  std::uint64_t pieces_ = 0;
};

}  // namespace agentcore::detail::llm
