// The common part of the targets for readers of answers: any bytes, as a whole body and as the chunks of a
// stream, one on each line, give objects or refusals; all text in them is valid UTF-8, and so is the text
// that the assemblers make of their tool calls and reasoning.
#pragma once

#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "llm/dialects/reasoning_assembler.hpp"
#include "llm/dialects/tool_call_assembler.hpp"
#include "llm/dialects/wire_format.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::fuzz {

// Bytes behind the data that is read in place: the end of the line, as in every stream, and bytes that could
// be mistaken for data.
inline const std::string padding = "\n" + std::string(63, '}');
inline constexpr std::size_t max_bytes = 1 << 12;  // of tool calls or reasoning: small, so that it is reached

inline void check(const llm::AnswerObject& object) {
  expect(core::is_utf8(object.content) && core::is_utf8(object.reasoning) && core::is_utf8(object.model));
  expect(!object.error || core::is_utf8(object.error->message));
  expect(object.tool_calls.size() <= llm::max_tool_calls);
  for (const llm::ToolCallPiece& piece : object.tool_calls)
    expect(core::is_utf8(piece.id) && core::is_utf8(piece.name) && core::is_utf8(piece.arguments));
  for (const llm::ReasoningPiece& piece : object.reasoning_pieces)
    expect(core::is_utf8(piece.text) && core::is_utf8(piece.signature) && core::is_utf8(piece.block));
  expect(core::is_utf8(object.text_in_details));
  expect(object.reasoning_details.size() <= llm::max_reasoning_details);
  for (const llm::ReasoningDetail& detail : object.reasoning_details) {
    expect(detail.members.size() <= llm::max_detail_members);
    for (const llm::DetailMember& member : detail.members)
      expect(core::is_utf8(member.name) && core::is_utf8(member.json));
  }
}

// The assemblers of one answer.
class Answer {
 public:
  // True if all of it was taken without a fault.
  bool add(llm::AnswerObject& object) {
    for (llm::ToolCallPiece& piece : object.tool_calls)
      if (calls_.add(std::move(piece)) != llm::ToolCallFault::none) return false;
    for (llm::ReasoningPiece& piece : object.reasoning_pieces)
      if (!thoughts_.add(std::move(piece))) return false;
    for (llm::ReasoningDetail& piece : object.reasoning_details)
      if (!thoughts_.add(std::move(piece))) return false;
    return object.tool_call_fault == llm::ToolCallFault::none;
  }

  void finish(const llm::WireFormat& format) {
    for (const ReasoningBlock& block : thoughts_.finish(format, "server", true))
      expect(!block.data.empty() && core::is_utf8(block.data) && block.server == "server");
    std::vector<ToolCall> calls;
    if (calls_.finish(calls) != llm::ToolCallFault::none) return;
    expect(calls.size() <= llm::max_tool_calls);
    std::size_t bytes = 0;
    for (const ToolCall& call : calls) {
      expect(!call.name.empty());
      bytes += call.id.size() + call.name.size() + call.arguments.size();
    }
    expect(bytes <= max_bytes);
  }

 private:
  llm::ToolCallAssembler calls_{max_bytes};
  llm::ReasoningAssembler thoughts_{max_bytes};
};

inline void read_stream(const llm::WireFormat& format, llm::AnswerReader& reader, std::string_view text) {
  Answer answer;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<char> exact(line.begin(), line.end());
    std::vector<char> padded = exact;
    padded.insert(padded.end(), padding.begin(), padding.end());
    llm::AnswerObject object, in_place;
    const bool read = reader.parse_chunk({exact.data(), exact.size()}, 0, object);
    check(object);
    if (read && !answer.add(object)) return;
    expect(reader.parse_chunk({padded.data(), line.size()}, padding.size(), in_place) == read);
    check(in_place);
  }
  answer.finish(format);
}

inline void read_body(const llm::WireFormat& format, llm::AnswerReader& reader, std::string_view text) {
  Answer answer;
  llm::AnswerObject object;
  const bool read = reader.parse_body(text, object);
  check(object);
  if (read && answer.add(object)) answer.finish(format);
}

// One input, read in both ways. The reader is kept from one input to the next, as a client keeps it.
inline int read_answers(const llm::WireFormat& format, const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<llm::AnswerReader> reader = format.make_reader();
  const std::string_view text = text_of(data, size);
  read_stream(format, *reader, text);
  read_body(format, *reader, text);
  return 0;
}

}  // namespace agentcore::fuzz
