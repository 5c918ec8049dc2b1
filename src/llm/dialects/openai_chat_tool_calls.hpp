// ToolCallReader: reads the tool calls in a message, or in a delta of one, of the OpenAI dialect, and the
// reasoning signatures in them that are to be sent back (Gemini).
#pragma once

#include "llm/dialects/wire_format.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

namespace agentcore::detail::llm {

class ToolCallReader {
 public:
  // `pieces` receives the calls. Added to: `reasoning`, with what is to be sent back, and `others`, with the
  // types of calls that are not of functions ("custom"). `repair`: a buffer for a text that simdjson refuses.
  // `broken` becomes true for an invalid string.
  ToolCallReader(std::vector<ToolCallPiece>& pieces, std::vector<ReasoningPiece>& reasoning,
                 std::vector<std::string>& others, std::string& repair, bool& broken)
      : pieces_(pieces), reasoning_(reasoning), others_(others), repair_(repair), broken_(broken) {}

  // The list under "tool_calls". `whole`: of a message, whose calls are not in pieces.
  void read_list(simdjson::ondemand::value value, bool whole, AnswerObject& object);

  // The member "function_call", the single call of older servers. A list takes precedence.
  void read_single(simdjson::ondemand::value value, bool whole, AnswerObject& object);

 private:
  ToolCallFault read_entries(simdjson::ondemand::array list, bool whole);
  void read_call(simdjson::ondemand::object call, ToolCallPiece& piece);
  void read_function(simdjson::ondemand::value value, ToolCallPiece& piece);
  void keep_extra(const ToolCallPiece& piece, std::string_view extra);

  std::vector<ToolCallPiece>& pieces_;
  std::vector<ReasoningPiece>& reasoning_;
  std::vector<std::string>& others_;
  std::string& repair_;
  bool& broken_;
};

}  // namespace agentcore::detail::llm
