// ToolCallAssembler: assembles the tool calls of one answer from the pieces that a server sends.
#pragma once

#include "llm/dialects/json_text.hpp"
#include "llm/dialects/value_scan.hpp"

#include <agentcore/chat.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::detail::llm {

inline constexpr std::size_t max_tool_calls = 64;  // of one answer; indexes are below it

// Where a call or a reasoning block stands in its answer, and its id as an item of the answer.
struct ItemPlace {
  std::uint64_t place = 0;  // it grows in the order of the answer
  std::string id = {};      // empty: none
};

// A piece of a call, or a whole one. Its strings are valid UTF-8.
struct ToolCallPiece {
  std::optional<std::uint64_t> index = {};  // of the call in the answer; some servers do not send it
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // appended to the earlier ones
  bool whole = false;          // a call of its own, never joined with an earlier one
  // The piece begins a call that the provider runs itself, at its index. That call, and what follows at that
  // index up to the next piece with a name, is not reported.
  bool foreign = false;
  bool replaces = false;    // `arguments`, unless empty, are complete: discard the earlier ones
  std::string item = {};    // the id of the item that is the call, which may differ from `id`
  std::uint64_t place = 0;  // see ItemPlace; that of the first piece of a call counts
  CutPair cut = {};         // at the ends of `arguments`
  bool has_ended = false;   // nothing of the call is missing
};

// Why an answer's tool calls cannot be used.
enum class ToolCallFault : unsigned char {
  none,
  too_many,   // more than max_tool_calls
  bad_index,  // not in the range 0 to max_tool_calls - 1
  too_large,  // more bytes than allowed
  no_name,    // the name of the tool is missing
};

// A piece belongs to the newest call with its index; among these, and without an index, to the newest with
// its id or item; with none of them, to the newest. But a piece with a name begins a new call when its id
// differs, or when the arguments of the call were begun and the name differs or a second JSON object begins:
// some servers give each call the index 0, and some give each piece an id of its own. A repeated name counts
// once, and a name may come after the arguments. A piece that replaces the arguments ends a call: with an
// index it belongs to that call, whatever its id (vLLM makes up a new one), unless the name differs.
//
// Servers repeat themselves. What was seen before is decided here, for all dialects:
// - Calls with the same id (as it was received), name and arguments are one call. Every further call
//   with that id loses it in the end. Without ids, equal calls are several calls.
// - Arguments are the same if their JSON has the same value (same_value.hpp).
// - Arguments that begin again after their end, without a name, are the same arguments once more, or replace
//   an empty object that stood in for them. A piece that repeats all of the arguments so far replaces them.
// - A snapshot completes the calls that were begun and adds those that are missing; see add_snapshot().
//
// One assembler reads one answer.
class ToolCallAssembler {
 public:
  // `max_bytes`: of ids, names and arguments together.
  explicit ToolCallAssembler(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  // Adds the next piece. An empty piece is skipped. After a fault the assembler cannot be used.
  ToolCallFault add(ToolCallPiece piece);

  // Adds the next call of a list that repeats the whole answer. It is the call with its id or item; if one of
  // them has no id, the first one with its name; or else a new one. Each call is taken once per list.
  ToolCallFault add_snapshot(ToolCallPiece piece);
  void begin_snapshot() noexcept;

  // The server says that the calls with that index are whole.
  void end(std::uint64_t index) noexcept;

  // The calls that were begun.
  std::size_t size() const noexcept { return slots_.size(); }
  // A snapshot, or whole arguments, differed from what came before.
  bool has_difference() const noexcept { return has_difference_; }

  // Returns the calls in the order of their indexes, and calls of one index in the order of their beginning;
  // in `places`, the place of each. `no_name`: the calls without a name are left out, and there was one. The
  // assembler is empty afterwards.
  //
  // `ended_normally`: the answer did. Then a call that the server called whole has the arguments {} if none
  // came; any other has none.
  ToolCallFault finish(std::vector<ToolCall>& calls, std::vector<ItemPlace>& places,
                       bool ended_normally = true);

 private:
  struct Slot {
    std::uint64_t index;
    ToolCall call;
    ItemPlace item;
    std::string earlier = {};  // arguments that were complete before `call` has them again
    ValueScan scan = {};       // of the call's arguments
    std::uint16_t high = 0;    // the first half of a pair behind the arguments
    bool in_snapshot = false;  // of the list that is taken now
    bool has_ended = false;
  };

  bool is_foreign(const ToolCallPiece& piece) noexcept;
  Slot* slot_of(const ToolCallPiece& piece) noexcept;
  Slot* repeated_slot(const ToolCallPiece& piece);
  ToolCallFault begin(ToolCallPiece&& piece, bool in_snapshot);
  ToolCallFault extend(Slot& slot, ToolCallPiece&& piece);
  ToolCallFault set_arguments(Slot& slot, std::string&& arguments);
  ToolCallFault take_bytes(std::size_t more, std::size_t less = 0) noexcept;
  static void end_arguments(Slot& slot);
  static bool joins_known(std::vector<ToolCall>& calls, std::vector<std::optional<std::string>>& spellings,
                          ToolCall& call);
  static void leave_ids_to_first(std::vector<ToolCall>& calls);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Slot> slots_;              // in the order of their beginning
  std::bitset<max_tool_calls> foreign_;  // by index
  bool has_difference_ = false;
};

}  // namespace agentcore::detail::llm
