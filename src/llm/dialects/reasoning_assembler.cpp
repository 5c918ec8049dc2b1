#include "llm/dialects/reasoning_assembler.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agentcore::llm {

bool ReasoningAssembler::add(ReasoningPiece piece) {
  bytes_ += piece.text.size() + piece.signature.size() + piece.block.size();
  if (bytes_ > max_bytes_) return false;
  const auto found = std::ranges::find(blocks_, piece.index, &ReasoningPiece::index);
  if (found == blocks_.end()) {
    blocks_.push_back(std::move(piece));
    return true;
  }
  found->text += piece.text;
  found->signature += piece.signature;
  if (!piece.block.empty()) found->block = std::move(piece.block);
  return true;
}

std::vector<ReasoningBlock> ReasoningAssembler::finish(const WireFormat& format) {
  std::ranges::stable_sort(blocks_, {}, &ReasoningPiece::index);
  std::vector<ReasoningBlock> blocks;
  for (ReasoningPiece& piece : std::exchange(blocks_, {})) {
    std::string data = piece.block.empty() ? format.reasoning_block(piece) : std::move(piece.block);
    if (!data.empty()) blocks.push_back({std::string(to_string(format.dialect())), std::move(data)});
  }
  return blocks;
}

}  // namespace agentcore::llm
