// ToolCallAssembler: assembles the tool calls of one answer from the pieces that a server sends.
#pragma once

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
};

// Why an answer's tool calls cannot be used.
enum class ToolCallFault : unsigned char {
  none,
  too_many,   // more than max_tool_calls
  bad_index,  // not in the range 0 to max_tool_calls - 1
  too_large,  // more bytes than allowed
  no_name,    // the name of the tool is missing
};

// A piece belongs to the newest call with its index; without an index, to the newest with its id; with
// neither, to the newest. But a piece with a name begins a new call when its id differs, or when the
// arguments of the call were begun and the name differs or a second JSON object begins: some servers give
// each call the index 0, and some give each piece an id of its own. A repeated name counts once. A piece that
// replaces the arguments ends a call: with an index it belongs to that call, whatever its id (vLLM makes up a
// new one), unless the name differs. One assembler reads one answer.
class ToolCallAssembler {
 public:
  // `max_bytes`: of ids, names and arguments together.
  explicit ToolCallAssembler(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  // Adds the next piece. An empty piece is skipped. After a fault the assembler cannot be used.
  ToolCallFault add(ToolCallPiece piece);

  // The calls that were begun.
  std::size_t size() const noexcept { return slots_.size(); }

  // Returns the calls in the order of their indexes, and calls of one index in the order of their beginning;
  // in `places`, the place of each. A duplicate id is left empty. The assembler is empty afterwards.
  ToolCallFault finish(std::vector<ToolCall>& calls, std::vector<ItemPlace>& places);

 private:
  struct Slot {
    std::uint64_t index;
    ToolCall call;
    ItemPlace item;
  };

  bool is_foreign(const ToolCallPiece& piece) noexcept;
  Slot* slot_of(const ToolCallPiece& piece) noexcept;
  ToolCallFault begin(ToolCallPiece&& piece);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Slot> slots_;              // in the order of their beginning
  std::bitset<max_tool_calls> foreign_;  // by index
};

}  // namespace agentcore::detail::llm
