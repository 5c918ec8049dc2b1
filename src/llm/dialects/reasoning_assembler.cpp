#include "llm/dialects/reasoning_assembler.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agentcore::detail::llm {

// Most pieces belong to the newest block.
ReasoningAssembler::Blocks::reverse_iterator ReasoningAssembler::newest_of(
    const ReasoningPiece& piece) noexcept {
  return std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const ReasoningPiece& block) {
    if (piece.index && block.index) return piece.index == block.index;
    return !piece.item.id.empty() && piece.item.id == block.item.id;
  });
}

bool ReasoningAssembler::add(ReasoningPiece piece) {
  const auto found = piece.begins ? blocks_.rend() : newest_of(piece);
  const bool is_new = found == blocks_.rend();
  const bool is_begun = piece.begins || (!is_new && found->begins);
  if (!piece.signature.empty() && !is_begun) return true;
  bytes_ += piece.text.size() + piece.signature.size() + piece.block.size();
  if (bytes_ + details_.bytes() > max_bytes_) return false;
  if (is_new) return begin(std::move(piece));
  append_pair(found->text, std::exchange(found->cut.high, piece.cut.high), piece.cut.low);
  found->text += piece.text;
  found->signature += piece.signature;
  if (!piece.block.empty()) found->block = std::move(piece.block);
  if (!piece.item.id.empty()) found->item.id = std::move(piece.item.id);
  return true;
}

bool ReasoningAssembler::begin(ReasoningPiece&& piece) {
  if (blocks_.size() == max_reasoning_blocks) return false;
  if (piece.cut.low != 0) {
    std::string text;
    append_pair(text, 0, std::exchange(piece.cut.low, std::uint16_t{0}));
    piece.text.insert(0, text);
  }
  blocks_.push_back(std::move(piece));
  return true;
}

void ReasoningAssembler::begin_snapshot() noexcept {
  known_ = blocks_.size();
  has_details_ = details_.bytes() != 0;
}

// A block of the snapshot is one of those before it, or a new one.
bool ReasoningAssembler::add_snapshot(ReasoningPiece piece) {
  const auto end = blocks_.begin() + static_cast<std::ptrdiff_t>(known_);
  const auto known = std::find_if(blocks_.begin(), end, [&](const ReasoningPiece& block) {
    const bool same_id = !piece.item.id.empty() && piece.item.id == block.item.id;
    return same_id || (piece.index && piece.index == block.index) ||
           (!piece.block.empty() && piece.block == block.block) ||
           (!piece.signature.empty() && piece.signature == block.signature);
  });
  if (known != end) return complete(*known, piece);
  bytes_ += piece.text.size() + piece.signature.size() + piece.block.size();
  return bytes_ + details_.bytes() <= max_bytes_ && begin(std::move(piece));
}

// Adds the end of the text, and the signature, if they have not come before.
bool ReasoningAssembler::complete(ReasoningPiece& block, ReasoningPiece& piece) {
  if (piece.text.size() > block.text.size() && piece.text.starts_with(block.text)) {
    bytes_ += piece.text.size() - block.text.size();
    block.text = std::move(piece.text);
    block.cut = {};
  }
  if (block.signature.empty() && block.begins) {
    bytes_ += piece.signature.size();
    block.signature = std::move(piece.signature);
  }
  return bytes_ + details_.bytes() <= max_bytes_;
}

bool ReasoningAssembler::add_snapshot(ReasoningDetail piece) {
  return has_details_ || add(std::move(piece));
}

bool ReasoningAssembler::add(ReasoningDetail piece) {
  return details_.add(std::move(piece)) && bytes_ + details_.bytes() <= max_bytes_;
}

std::vector<ReasoningBlock> ReasoningAssembler::finish(const WireFormat& format, const ReasoningRule& rule,
                                                       const ReasoningBlock& made, bool all,
                                                       std::vector<ItemPlace>& places) {
  // A block without an index stays behind the one before it.
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    if (!blocks_[i].index) blocks_[i].index = i == 0 ? 0 : blocks_[i - 1].index;
  std::ranges::stable_sort(blocks_, {}, &ReasoningPiece::index);
  std::vector<ReasoningBlock> blocks;
  const auto keep = [&](std::string data, ItemPlace place) {
    if (data.empty()) return;
    blocks.push_back(made);
    blocks.back().data = std::move(data);
    places.push_back(std::move(place));
  };
  std::string details = std::exchange(details_, {}).text();
  if (all) keep(std::move(details), {});
  for (ReasoningPiece& piece : std::exchange(blocks_, {})) {
    append_pair(piece.text, std::exchange(piece.cut.high, std::uint16_t{0}), 0);
    if (all || piece.of_message)
      keep(piece.block.empty() ? format.reasoning_block(piece, rule.takes_unsigned) : std::move(piece.block),
           std::move(piece.item));
  }
  return blocks;
}

}  // namespace agentcore::detail::llm
