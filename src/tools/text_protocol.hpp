// The text protocol: calls of actions written into an answer, for models and servers without native tool
// calls.
//
//   <tool_call>{"calls":[{"window_id":"notes","action_id":"add","params":{"text":"milk"}}]}</tool_call>
#pragma once

#include "core/json_depth.hpp"
#include "tools/action_call.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::tools {

inline constexpr std::size_t max_calls_per_answer = 64;
using core::max_json_depth;

// What an answer turned out to be. Without calls it is an answer in words, whatever else it contains (X30).
struct ParsedAnswer {
  std::vector<ActionCall> calls;  // in the order in which they are to run (J10)
  std::string parse_error;        // why the block in it holds no calls; empty: it does, or there is none
};

// Reads the first <tool_call> block of an answer, which may go over several lines; what surrounds it and
// later blocks count as words. The block holds one JSON object: with `calls`, an array (J2), or itself a
// single call (J6). Each call needs a `window_id` and an `action_id` that are not blank (J3, J4), else none
// of them counts; `params` that are no object count as none. Property names are read in any case. Ids are
// given here, never by the model (J7): call_2_1 is the first call of the second turn (J8). Never throws but
// for a lack of memory, and takes time linear in the answer.
ParsedAnswer parse_tool_text(std::string_view answer, int turn);

// The block that parse_tool_text() reads back as these calls, but for their ids. Each `params` must be empty
// or the text of a JSON object.
std::string render_tool_text(const std::vector<ActionCall>& calls);

// What a system prompt must say for a model to write such blocks (N1-N4).
std::string_view tool_text_instructions() noexcept;

}  // namespace agentcore::tools
