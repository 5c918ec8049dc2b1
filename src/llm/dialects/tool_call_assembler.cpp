#include "llm/dialects/tool_call_assembler.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::llm {
namespace {

bool says_nothing(const ToolCallPiece& piece) noexcept {
  return piece.id.empty() && piece.name.empty() && piece.arguments.empty();
}

// True if the piece, which could continue the call, begins another one.
bool begins_another(const ToolCall& call, const ToolCallPiece& piece) noexcept {
  if (piece.whole) return true;
  if (piece.name.empty()) return false;
  const bool both_ids = !piece.id.empty() && !call.id.empty();
  if (piece.replaces) {
    const bool other_name = !call.name.empty() && piece.name != call.name;
    return other_name || (!piece.index && both_ids && piece.id != call.id);
  }
  if (both_ids) return piece.id != call.id;
  if (call.arguments.empty()) return false;
  return piece.name != call.name || (call.arguments.ends_with('}') && piece.arguments.starts_with('{'));
}

void extend(ToolCall& call, const ToolCallPiece& piece) {
  if (call.id.empty()) call.id = piece.id;
  if (piece.name != call.name) call.name += piece.name;
  call.arguments += piece.arguments;
}

}  // namespace

ToolCallFault ToolCallAssembler::add(ToolCallPiece piece) {
  if (piece.index && *piece.index >= max_tool_calls) return ToolCallFault::bad_index;
  if (is_foreign(piece) || says_nothing(piece)) return ToolCallFault::none;
  Slot* const slot = slot_of(piece);
  const bool begins = !slot || begins_another(slot->call, piece);
  if (!begins && piece.replaces && !piece.arguments.empty()) {
    bytes_ -= slot->call.arguments.size();
    slot->call.arguments.clear();
  }
  bytes_ += piece.id.size() + piece.name.size() + piece.arguments.size();
  if (bytes_ > max_bytes_) return ToolCallFault::too_large;
  if (begins) return begin(std::move(piece));
  extend(slot->call, piece);
  if (!piece.item.empty()) slot->item.id = std::move(piece.item);
  return ToolCallFault::none;
}

bool ToolCallAssembler::is_foreign(const ToolCallPiece& piece) noexcept {
  if (!piece.index) return piece.foreign;
  if (piece.foreign || !piece.name.empty()) foreign_[*piece.index] = piece.foreign;
  return foreign_[*piece.index];
}

ToolCallAssembler::Slot* ToolCallAssembler::slot_of(const ToolCallPiece& piece) noexcept {
  Slot* newest = nullptr;
  for (Slot& slot : slots_) {
    if (piece.index && slot.index != *piece.index) continue;
    const bool newest_is_it = newest && !piece.id.empty() && newest->call.id == piece.id;
    if (!newest_is_it || slot.call.id == piece.id) newest = &slot;
  }
  return newest;
}

ToolCallFault ToolCallAssembler::begin(ToolCallPiece&& piece) {
  if (slots_.size() == max_tool_calls) return ToolCallFault::too_many;
  const std::uint64_t index = piece.index.value_or(slots_.empty() ? 0 : slots_.back().index);
  slots_.push_back({index,
                    {std::move(piece.id), std::move(piece.name), std::move(piece.arguments), std::string()},
                    {piece.place, std::move(piece.item)}});
  return ToolCallFault::none;
}

ToolCallFault ToolCallAssembler::finish(std::vector<ToolCall>& calls, std::vector<ItemPlace>& places) {
  std::ranges::stable_sort(slots_, {}, &Slot::index);
  for (Slot& slot : std::exchange(slots_, {})) {
    if (slot.call.name.empty()) return ToolCallFault::no_name;
    if (std::ranges::find(calls, slot.call.id, &ToolCall::id) != calls.end()) slot.call.id.clear();
    calls.push_back(std::move(slot.call));
    places.push_back(std::move(slot.item));
  }
  return ToolCallFault::none;
}

}  // namespace agentcore::detail::llm
