#include "llm/dialects/reasoning_assembler.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agentcore::detail::llm {

bool ReasoningAssembler::add(ReasoningPiece piece) {
  // Most pieces belong to the newest block.
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                  [&](const ReasoningPiece& block) { return block.index == piece.index; });
  const bool is_begun = piece.begins || (found != blocks_.rend() && found->begins);
  if (!piece.signature.empty() && !is_begun) return true;
  bytes_ += piece.text.size() + piece.signature.size() + piece.block.size();
  if (bytes_ + details_.bytes() > max_bytes_) return false;
  if (found == blocks_.rend()) {
    if (blocks_.size() == max_reasoning_blocks) return false;
    blocks_.push_back(std::move(piece));
    return true;
  }
  found->text += piece.text;
  found->signature += piece.signature;
  if (!piece.block.empty()) found->block = std::move(piece.block);
  if (!piece.item.id.empty()) found->item.id = std::move(piece.item.id);
  return true;
}

bool ReasoningAssembler::add(ReasoningDetail piece) {
  return details_.add(std::move(piece)) && bytes_ + details_.bytes() <= max_bytes_;
}

std::vector<ReasoningBlock> ReasoningAssembler::finish(const WireFormat& format, const ReasoningRule& rule,
                                                       const ReasoningBlock& made, bool all,
                                                       std::vector<ItemPlace>& places) {
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
  for (ReasoningPiece& piece : std::exchange(blocks_, {}))
    if (all || piece.of_message)
      keep(piece.block.empty() ? format.reasoning_block(piece, rule.takes_unsigned) : std::move(piece.block),
           std::move(piece.item));
  return blocks;
}

}  // namespace agentcore::detail::llm
