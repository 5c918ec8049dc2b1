// ReasoningAssembler: joins the pieces of the reasoning of one answer that is to be sent back to its
// provider.
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <cstddef>
#include <vector>

namespace agentcore::detail::llm {

// One assembler reads one answer. Pieces with one index make one block, in the order of the indexes; a piece
// that begins a block begins another one, whatever its index. A piece without an index belongs to the block
// with its id as an item, or is one.
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

  // The next block or entry of a snapshot, which repeats those of the answer; see Snapshot. It is taken if it
  // is not known yet: as a block with its index or id, or, for an entry, if there was none before the
  // snapshot.
  void begin_snapshot() noexcept;
  bool add_snapshot(ReasoningPiece piece);
  bool add_snapshot(ReasoningDetail piece);

  // Returns the blocks, in the form of the dialect, as copies of `made` with data; without `all` only those
  // whose pieces are `of_message`; in `places`, the place of each. The assembler is empty afterwards.
  std::vector<ReasoningBlock> finish(const WireFormat& format, const ReasoningRule& rule,
                                     const ReasoningBlock& made, bool all, std::vector<ItemPlace>& places);

 private:
  using Blocks = std::vector<ReasoningPiece>;

  Blocks::reverse_iterator newest_of(const ReasoningPiece& piece) noexcept;
  bool begin(ReasoningPiece&& piece);
  bool complete(ReasoningPiece& block, ReasoningPiece& piece);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  Blocks blocks_;             // in the order of their beginning
  std::size_t known_ = 0;     // of them, those before the snapshot
  bool has_details_ = false;  // before the snapshot
  ReasoningDetails details_;
};

}  // namespace agentcore::detail::llm
