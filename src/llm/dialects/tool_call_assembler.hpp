// ToolCallAssembler: puts the tool calls of one answer together, from the pieces in which a server sends
// them.
#pragma once

#include <agentcore/chat.hpp>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace agentcore::llm {

inline constexpr std::size_t max_tool_calls = 64;  // of one answer; indexes are below it

// A piece of a call, or a whole one. Its strings are valid UTF-8.
struct ToolCallPiece {
  std::optional<std::uint64_t> index = {};  // of the call in the answer; not every server says it
  std::string id = {};
  std::string name = {};
  std::string arguments = {};  // what is added to those that came before
  bool whole = false;          // a call of its own, whatever came before
  // Begins what the provider does by itself, at its index. It is no call, nor is what follows at that index,
  // up to the next piece with a name.
  bool foreign = false;
  bool replaces = false;  // `arguments`, unless empty, are all that there are: forget those before
};

// Why an answer's tool calls are of no use.
enum class ToolCallFault : unsigned char {
  none,
  too_many,   // more than max_tool_calls
  bad_index,  // none from 0 to max_tool_calls - 1
  too_large,  // more bytes than allowed
  no_name,    // nobody knows which tool is meant
};

// To which call a piece belongs: to the newest with its index; without an index, to the newest with its id;
// with neither, to the newest. But a piece with a name begins a new call when its id is another one, or when
// the arguments of the call were begun and the name is another one or a second JSON object begins: there are
// servers that give each call the index 0, and servers that give each piece an id of its own. A name that is
// repeated counts once. A piece that replaces ends a call: with an index it belongs to that call, whatever
// its id (vLLM makes up a new one), unless the name is another one. One assembler reads one answer.
class ToolCallAssembler {
 public:
  // `max_bytes`: of ids, names and arguments together.
  explicit ToolCallAssembler(std::size_t max_bytes) noexcept : max_bytes_(max_bytes) {}

  // Takes the next piece. A piece that says nothing is passed over. After a fault the assembler is spent.
  ToolCallFault add(ToolCallPiece piece);

  // Gives the calls out, in the order of their indexes, those of one index as they began. An id that an
  // earlier call has already is left empty. The assembler is empty afterwards.
  ToolCallFault finish(std::vector<ToolCall>& calls);

 private:
  struct Slot {
    std::uint64_t index;
    ToolCall call;
  };

  bool is_foreign(const ToolCallPiece& piece) noexcept;
  Slot* slot_of(const ToolCallPiece& piece) noexcept;
  ToolCallFault begin(ToolCallPiece&& piece);

  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::vector<Slot> slots_;              // as they began
  std::bitset<max_tool_calls> foreign_;  // by index
};

}  // namespace agentcore::llm
