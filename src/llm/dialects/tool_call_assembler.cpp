#include "llm/dialects/tool_call_assembler.hpp"

#include "llm/dialects/same_value.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view blanks = " \t\r\n";

bool says_nothing(const ToolCallPiece& piece) noexcept {
  return piece.id.empty() && piece.name.empty() && piece.arguments.empty() && !piece.cut;
}

// What a piece adds to arguments, at most: each half of a pair may become a character of its own.
std::size_t size_of_arguments(const ToolCallPiece& piece) noexcept {
  constexpr std::size_t of_half = 4;
  return piece.arguments.size() + (piece.cut.low != 0 ? of_half : 0) + (piece.cut.high != 0 ? of_half : 0);
}

bool begins_object(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(blanks);
  return first != std::string_view::npos && text[first] == '{';
}

bool is_json_blank(std::string_view text) noexcept {
  return text.find_first_not_of(blanks) == std::string_view::npos;
}

// The next byte that is not blank space between the tokens of a JSON text; 0 at its end.
char next_token_byte(std::string_view text, std::size_t& at, bool& in_text) noexcept {
  while (!in_text && at < text.size() && blanks.find(text[at]) != std::string_view::npos) ++at;
  if (at == text.size()) return 0;
  if (in_text && text[at] == '\\' && at + 1 < text.size()) return text[at++];
  if (text[at] == '"') in_text = !in_text;
  return text[at++];
}

bool ends_object(std::string_view text) noexcept {
  const auto last = text.find_last_not_of(blanks);
  return last != std::string_view::npos && text[last] == '}';
}

// True for texts that differ in blank space between tokens only.
bool same_tokens(std::string_view a, std::string_view b) noexcept {
  std::size_t at_a = 0, at_b = 0;
  bool in_a = false, in_b = false;
  for (;;) {
    const char from_a = next_token_byte(a, at_a, in_a), from_b = next_token_byte(b, at_b, in_b);
    if (from_a != from_b) return false;
    if (at_a == a.size() && at_b == b.size()) return true;
    if (from_a == 0) return false;
    if (from_a == '\\' && in_a && at_a < a.size() && at_b < b.size() && a[at_a++] != b[at_b++]) return false;
  }
}

// True for the same arguments, however they are spelled. Nothing is the same as an empty object.
bool same_arguments(std::string_view a, std::string_view b) {
  if (is_json_blank(a)) a = "{}";
  if (is_json_blank(b)) b = "{}";
  if (same_tokens(a, b)) return true;
  const auto is_whole = [](std::string_view text) { return begins_object(text) && ends_object(text); };
  return is_whole(a) && is_whole(b) && same_value(a, b);
}

// True if the piece, which could continue the call, begins another one. `has_ended`: its arguments are a
// complete object.
bool begins_another(const ToolCall& call, bool has_ended, const ToolCallPiece& piece) noexcept {
  if (piece.whole) return true;
  if (piece.name.empty()) return false;
  const bool both_ids = !piece.id.empty() && !call.id.empty();
  if (piece.replaces) {
    const bool other_name = !call.name.empty() && piece.name != call.name;
    return other_name || (!piece.index && both_ids && piece.id != call.id);
  }
  const bool has_begun = !call.arguments.empty();
  const bool begins_again = has_ended && begins_object(piece.arguments);
  if (both_ids && piece.id != call.id) {
    const bool goes_on = has_begun && !has_ended && piece.index && piece.name == call.name &&
                         !piece.arguments.empty() && !begins_object(piece.arguments);
    return !goes_on;
  }
  if (call.name.empty()) return begins_again;
  if (both_ids) return begins_again || (has_ended && piece.name != call.name);
  return has_begun && (piece.name != call.name || begins_again);
}

}  // namespace

ToolCallFault ToolCallAssembler::add(ToolCallPiece piece) {
  if (piece.index && *piece.index >= max_tool_calls) return ToolCallFault::bad_index;
  if (is_foreign(piece) || says_nothing(piece)) return ToolCallFault::none;
  Slot* const slot = slot_of(piece);
  if (slot == nullptr || begins_another(slot->call, slot->scan.is_complete(), piece))
    return begin(std::move(piece), false);
  return extend(*slot, std::move(piece));
}

ToolCallFault ToolCallAssembler::add_snapshot(ToolCallPiece piece) {
  if (piece.index && *piece.index >= max_tool_calls) return ToolCallFault::bad_index;
  if (piece.foreign || says_nothing(piece)) return ToolCallFault::none;
  Slot* const slot = repeated_slot(piece);
  if (slot == nullptr) return begin(std::move(piece), true);
  slot->in_snapshot = true;
  slot->has_ended = slot->has_ended || piece.has_ended;
  if (slot->call.id.empty()) slot->call.id = piece.id;
  if (slot->call.name.empty()) slot->call.name = piece.name;
  if (slot->item.id.empty()) slot->item.id = std::move(piece.item);
  if (is_json_blank(piece.arguments) || same_arguments(slot->call.arguments, piece.arguments))
    return take_bytes(0);
  if (slot->scan.is_complete() && !same_arguments(slot->call.arguments, "{}")) {
    has_difference_ = true;
    return ToolCallFault::none;
  }
  return set_arguments(*slot, std::move(piece.arguments));
}

void ToolCallAssembler::begin_snapshot() noexcept {
  for (Slot& slot : slots_) slot.in_snapshot = false;
}

void ToolCallAssembler::end(std::uint64_t index) noexcept {
  for (Slot& slot : slots_) slot.has_ended = slot.has_ended || slot.index == index;
}

bool ToolCallAssembler::is_foreign(const ToolCallPiece& piece) noexcept {
  if (!piece.index) return piece.foreign;
  if (piece.foreign || !piece.name.empty()) foreign_[*piece.index] = piece.foreign;
  return foreign_[*piece.index];
}

ToolCallAssembler::Slot* ToolCallAssembler::slot_of(const ToolCallPiece& piece) noexcept {
  const auto is_named = [&piece](const Slot& slot) {
    if (!piece.id.empty() && slot.call.id == piece.id) return true;
    return !piece.item.empty() && (slot.item.id == piece.item || slot.call.id == piece.item);
  };
  Slot* newest = nullptr;
  for (Slot& slot : slots_) {
    if (piece.index && slot.index != *piece.index) continue;
    if (!newest || !is_named(*newest) || is_named(slot)) newest = &slot;
  }
  return newest;
}

// The call that the next one of a snapshot repeats; null: none.
ToolCallAssembler::Slot* ToolCallAssembler::repeated_slot(const ToolCallPiece& piece) {
  const auto first = [this](auto&& fits) -> Slot* {
    const auto found =
        std::ranges::find_if(slots_, [&fits](const Slot& slot) { return !slot.in_snapshot && fits(slot); });
    return found == slots_.end() ? nullptr : &*found;
  };
  const auto has_name = [&piece](const Slot& slot) {
    return slot.call.name.empty() || slot.call.name == piece.name;
  };
  const auto by_id = [&](const Slot& slot) {
    return !piece.id.empty() && slot.call.id == piece.id && has_name(slot);
  };
  const auto by_item = [&](const Slot& slot) {
    return !piece.item.empty() && slot.item.id == piece.item && has_name(slot);
  };
  if (Slot* const slot = first(by_id)) return slot;
  if (Slot* const slot = first(by_item)) return slot;
  Slot* const slot = first(has_name);
  if (slot == nullptr || piece.id.empty() || slot->call.id.empty()) return slot;
  return same_arguments(slot->call.arguments, piece.arguments) ? slot : nullptr;
}

ToolCallFault ToolCallAssembler::take_bytes(std::size_t more, std::size_t less) noexcept {
  bytes_ += more;
  bytes_ -= less;
  return bytes_ > max_bytes_ ? ToolCallFault::too_large : ToolCallFault::none;
}

ToolCallFault ToolCallAssembler::begin(ToolCallPiece&& piece, bool in_snapshot) {
  const ToolCallFault fault = take_bytes(piece.id.size() + piece.name.size() + size_of_arguments(piece));
  if (fault != ToolCallFault::none) return fault;
  if (slots_.size() == max_tool_calls) return ToolCallFault::too_many;
  Slot slot{.index = piece.index.value_or(slots_.empty() ? 0 : slots_.back().index),
            .call = {.id = std::move(piece.id), .name = std::move(piece.name)},
            .item = {piece.place, std::move(piece.item)},
            .high = piece.cut.high,
            .in_snapshot = in_snapshot,
            .has_ended = piece.has_ended};
  append_pair(slot.call.arguments, 0, piece.cut.low);
  slot.call.arguments += piece.arguments;
  slot.scan.add(piece.arguments);
  slots_.push_back(std::move(slot));
  return ToolCallFault::none;
}

ToolCallFault ToolCallAssembler::extend(Slot& slot, ToolCallPiece&& piece) {
  ToolCall& call = slot.call;
  if (call.id.empty()) call.id = piece.id;
  if (piece.name != call.name) call.name += piece.name;
  if (!piece.item.empty()) slot.item.id = std::move(piece.item);
  if (const auto fault = take_bytes(piece.id.size() + piece.name.size()); fault != ToolCallFault::none)
    return fault;
  const bool begins = begins_object(piece.arguments);
  if (piece.replaces && !piece.arguments.empty()) {
    has_difference_ =
        has_difference_ || (slot.scan.is_complete() && !same_arguments(call.arguments, piece.arguments));
    return set_arguments(slot, std::move(piece.arguments));
  }
  if (begins && !slot.scan.is_complete() && begins_object(call.arguments) &&
      piece.arguments.starts_with(call.arguments))
    return set_arguments(slot, std::move(piece.arguments));
  if (begins && slot.scan.is_complete() && (slot.earlier.empty() || slot.earlier == call.arguments)) {
    slot.earlier = std::exchange(call.arguments, {});
    slot.scan = {};
  }
  append_pair(call.arguments, std::exchange(slot.high, piece.cut.high), piece.cut.low);
  call.arguments += piece.arguments;
  slot.scan.add(piece.arguments);
  return take_bytes(size_of_arguments(piece));
}

ToolCallFault ToolCallAssembler::set_arguments(Slot& slot, std::string&& arguments) {
  const std::size_t before = slot.call.arguments.size() + std::exchange(slot.earlier, {}).size();
  slot.call.arguments = std::move(arguments);
  slot.high = 0;
  slot.scan = {};
  slot.scan.add(slot.call.arguments);
  return take_bytes(slot.call.arguments.size(), std::min(before, bytes_));
}

// Decides what arguments that came twice are.
void ToolCallAssembler::end_arguments(Slot& slot) {
  std::string& arguments = slot.call.arguments;
  append_pair(arguments, std::exchange(slot.high, std::uint16_t{0}), 0);
  std::string& earlier = slot.earlier;
  if (earlier.empty() || same_arguments(earlier, "{}") || same_arguments(earlier, arguments)) return;
  if (earlier.starts_with(arguments)) {
    arguments = std::move(earlier);  // once more, but cut off
  } else {
    arguments.insert(0, earlier);  // two calls in one, which nobody can tell apart
  }
}

// True if the call is one of those: it is not reported again. All have their ids as they were received.
// `spellings`: of the arguments of `calls`, made when they are needed, so that each text is read once however
// many calls have the same id.
bool ToolCallAssembler::joins_known(std::vector<ToolCall>& calls,
                                    std::vector<std::optional<std::string>>& spellings, ToolCall& call) {
  if (call.id.empty()) return false;
  spellings.resize(calls.size());
  std::optional<std::string> spelling;
  const auto spell = [](const std::string& arguments) {
    return one_spelling(is_json_blank(arguments) ? std::string_view("{}") : arguments);
  };
  const auto is_same = [&](const ToolCall& other, std::optional<std::string>& spelling_of_other) {
    if (other.arguments.empty() || call.arguments.empty()) return true;
    if (same_tokens(other.arguments, call.arguments)) return true;
    if (!spelling) spelling = spell(call.arguments);
    if (!spelling_of_other) spelling_of_other = spell(other.arguments);
    return !spelling->empty() && *spelling == *spelling_of_other;
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ToolCall& known = calls[i];
    if (known.id != call.id || known.name != call.name || !is_same(known, spellings[i])) continue;
    if (known.arguments.empty()) {
      known.arguments = std::move(call.arguments);
      spellings[i].reset();
    }
    return true;
  }
  return false;
}

void ToolCallAssembler::leave_ids_to_first(std::vector<ToolCall>& calls) {
  for (auto call = calls.begin(); call != calls.end(); ++call)
    if (std::any_of(calls.begin(), call, [&](const ToolCall& before) { return before.id == call->id; }))
      call->id.clear();
}

ToolCallFault ToolCallAssembler::finish(std::vector<ToolCall>& calls, std::vector<ItemPlace>& places,
                                        bool ended_normally) {
  std::ranges::stable_sort(slots_, {}, &Slot::index);
  ToolCallFault fault = ToolCallFault::none;
  std::vector<std::optional<std::string>> spellings;
  for (Slot& slot : std::exchange(slots_, {})) {
    end_arguments(slot);
    if (ended_normally && slot.has_ended && is_json_blank(slot.call.arguments)) slot.call.arguments = "{}";
    if (slot.call.name.empty()) {
      fault = ToolCallFault::no_name;
    } else if (!joins_known(calls, spellings, slot.call)) {
      calls.push_back(std::move(slot.call));
      places.push_back(std::move(slot.item));
    }
  }
  leave_ids_to_first(calls);
  return fault;
}

}  // namespace agentcore::detail::llm
