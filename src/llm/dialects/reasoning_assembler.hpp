// ReasoningAssembler: joins the pieces of the reasoning of one answer that is to be sent back to its
// provider.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <vector>

namespace agentcore::detail::llm {

// One assembler reads one answer. Pieces with one index make one block, in the order of the indexes.
class ReasoningAssembler {
 public:
  // `max_bytes`: limit of all pieces together. Details may come in many small pieces, so their memory counts.
  explicit ReasoningAssembler(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  // False: more bytes than allowed, or more than max_reasoning_blocks; the assembler cannot be used after
  // that. A piece with a signature is ignored unless the piece itself or the first of its block `begins` the
  // block.
  bool add(ReasoningPiece piece);
  // The same for the entries of the block that is a list of details. It comes before the others.
  bool add(ReasoningDetail piece);

  // Returns the blocks, in the form of the dialect, as copies of `made` with data; without `all` only those
  // whose pieces are `of_message`; in `places`, the place of each. The assembler is empty afterwards.
  std::vector<ReasoningBlock> finish(const WireFormat& format, const ReasoningRule& rule,
                                     const ReasoningBlock& made, bool all, std::vector<ItemPlace>& places);

 private:
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<ReasoningPiece> blocks_;  // in the order of their beginning
  ReasoningDetails details_;
};

}  // namespace agentcore::detail::llm
