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

namespace agentcore::detail::tools {

inline constexpr std::size_t max_calls_per_answer = 64;
using core::max_json_depth;

inline constexpr std::string_view block_begin = "<tool_call>";
inline constexpr std::string_view block_end = "</tool_call>";

// A parsed answer. Without calls and without an error it is a plain text (X30).
struct ParsedAnswer {
  std::vector<ActionCall> calls;  // in the order in which they are to run (J10)
  std::string parse_error;        // why a block cannot be read; empty: all can be read, or there is none
};

// Reads the first <tool_call> block of an answer, which may span several lines. It holds one JSON object:
// with `calls`, an array (J2), or itself a single call (J6); or an array of calls; in a Markdown code fence
// or not. The block ends with the first </tool_call> outside of the strings in it. A call needs a `window_id`
// and an `action_id` that are not blank (J3, J4); `params` that are not an object are ignored.
//
// A call may also have the form that many models were trained on: a `name`, and `arguments`, an object or the
// text of one. Without a `window_id` this is a call of an ordinary tool. If the first block has this form,
// the blocks behind it are read as well, up to and including the first one of the other form.
//
// If one call cannot be read, no call counts. Property names are read in any case. Ids are assigned here,
// never by the model (J7): call_2_1 is the first call of the second turn (J8). Throws nothing but
// std::bad_alloc, and takes time linear in the answer.
ParsedAnswer parse_tool_text(std::string_view answer, int turn);

// The block that parse_tool_text() reads back as these calls, except for their ids. `params` that are not a
// JSON object are written as the string `invalid_params`, which parse_tool_text() ignores.
std::string render_tool_text(const std::vector<ActionCall>& calls);

// The instructions in a system prompt for a model to write such blocks (N1-N4).
std::string tool_text_instructions(bool has_launcher);
inline constexpr std::string_view tool_text_launcher =
    "The window `launcher` is always there. To open an application, call an action of the launcher.";

// The message to a model whose answer was refused with this ParsedAnswer::parse_error.
std::string tool_text_correction(std::string_view parse_error);

}  // namespace agentcore::detail::tools
