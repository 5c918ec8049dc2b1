// ReasoningAssembler: puts together what a model thought in one answer, as far as its provider wants it back.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <vector>

namespace agentcore::llm {

// One assembler reads one answer. Pieces with one index make one block, in the order of the indexes.
class ReasoningAssembler {
 public:
  // `max_bytes`: of all pieces together.
  explicit ReasoningAssembler(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  // False: more bytes than allowed, or more than 1,000 blocks. The assembler is spent then.
  bool add(ReasoningPiece piece);

  // The blocks, in the form that the dialect gives them. The assembler is empty afterwards.
  std::vector<ReasoningBlock> finish(const WireFormat& format);

 private:
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<ReasoningPiece> blocks_;  // as they began
};

}  // namespace agentcore::llm
