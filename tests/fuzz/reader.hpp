// The common part of the targets for readers of answers: any bytes, as a whole body and as the chunks of a
// stream, one on each line, give objects or refusals, the same as from a new reader; all text in them is
// valid UTF-8, and so is the text that the assemblers make of their tool calls and reasoning.
#pragma once

#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "llm/dialects/reasoning_assembler.hpp"
#include "llm/dialects/tool_call_assembler.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/error_class.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::fuzz {

// Bytes behind the data that is read in place: the end of the line, as in every stream, and bytes that could
// be mistaken for data.
inline const std::string padding = "\n" + std::string(63, '}');
inline constexpr std::size_t max_bytes = 1 << 12;  // of tool calls or reasoning: small, so that it is reached

// The pieces follow one another, to the end of the text, or have no bytes.
inline void check(std::span<const detail::llm::TextPiece> pieces, std::string_view text) {
  std::size_t end = 0;
  for (const detail::llm::TextPiece& piece : pieces) {
    expect(piece.bytes == 0 || piece.offset == end);
    end += piece.bytes;
    expect(detail::core::is_utf8(piece.phase) && detail::core::is_utf8(piece.id));
    expect(detail::core::is_utf8(text.substr(piece.bytes == 0 ? 0 : piece.offset, piece.bytes)));
  }
  expect(pieces.empty() || end == text.size());
}

inline void check(const detail::llm::Snapshot& snapshot) {
  expect(detail::core::is_utf8(snapshot.content) && detail::core::is_utf8(snapshot.reasoning) &&
         detail::core::is_utf8(snapshot.text_in_details));
  check(snapshot.texts, snapshot.content);
  check(snapshot.reasoning_texts, snapshot.reasoning);
  expect(snapshot.tool_calls.size() <= detail::llm::max_tool_calls);
  for (const detail::llm::ToolCallPiece& piece : snapshot.tool_calls)
    expect(detail::core::is_utf8(piece.id) && detail::core::is_utf8(piece.name) &&
           detail::core::is_utf8(piece.arguments) && detail::core::is_utf8(piece.item));
}

inline void check(const detail::llm::AnswerObject& object) {
  expect(detail::core::is_utf8(object.content) && detail::core::is_utf8(object.reasoning) &&
         detail::core::is_utf8(object.model));
  check(object.texts, object.content);
  check(object.reasoning_texts, object.reasoning);
  if (object.snapshot != nullptr) check(*object.snapshot);
  if (object.error) {
    expect(detail::core::is_utf8(object.error->message) && detail::core::is_utf8(object.error->raw));
    for (const std::string& code : object.error->codes) expect(detail::core::is_utf8(code));
    for (const int status : {200, 400, 429, 500}) detail::llm::classify(status, *object.error);
  }
  expect(object.tool_calls.size() <= detail::llm::max_tool_calls);
  for (const detail::llm::ToolCallPiece& piece : object.tool_calls)
    expect(detail::core::is_utf8(piece.id) && detail::core::is_utf8(piece.name) &&
           detail::core::is_utf8(piece.arguments));
  for (const detail::llm::ReasoningPiece& piece : object.reasoning_pieces)
    expect(detail::core::is_utf8(piece.text) && detail::core::is_utf8(piece.signature) &&
           detail::core::is_utf8(piece.block));
  expect(detail::core::is_utf8(object.text_in_details));
  expect(object.reasoning_details.size() <= detail::llm::max_reasoning_details);
  for (const detail::llm::ReasoningDetail& detail : object.reasoning_details) {
    expect(detail.members.size() <= detail::llm::max_detail_members);
    for (const detail::llm::DetailMember& member : detail.members)
      expect(detail::core::is_utf8(member.name) && detail::core::is_utf8(member.json));
  }
}

inline bool same(const detail::llm::AnswerObject& a, const detail::llm::AnswerObject& b) {
  return a.content == b.content && a.reasoning == b.reasoning && a.model == b.model &&
         a.has_choice == b.has_choice && a.refused == b.refused && a.ends == b.ends &&
         a.finish_reason == b.finish_reason && a.usage.has_value() == b.usage.has_value() &&
         (a.snapshot == nullptr) == (b.snapshot == nullptr) && a.content_cut == b.content_cut &&
         a.reasoning_cut == b.reasoning_cut && a.cost == b.cost &&
         a.error.has_value() == b.error.has_value() && a.tool_calls.size() == b.tool_calls.size() &&
         a.reasoning_pieces.size() == b.reasoning_pieces.size() &&
         a.reasoning_details.size() == b.reasoning_details.size();
}

// The assemblers of one answer.
class Answer {
 public:
  // True if all of it was taken without a fault.
  bool add(detail::llm::AnswerObject& object) {
    for (detail::llm::ToolCallPiece& piece : object.tool_calls)
      if (calls_.add(std::move(piece)) != detail::llm::ToolCallFault::none) return false;
    for (detail::llm::ReasoningPiece& piece : object.reasoning_pieces)
      if (!thoughts_.add(std::move(piece))) return false;
    for (detail::llm::ReasoningDetail& piece : object.reasoning_details)
      if (!thoughts_.add(std::move(piece))) return false;
    if (object.snapshot != nullptr && !add(*object.snapshot)) return false;
    return object.tool_call_fault == detail::llm::ToolCallFault::none;
  }

  bool add(const detail::llm::Snapshot& snapshot) {
    calls_.begin_snapshot();
    for (detail::llm::ToolCallPiece& piece : snapshot.tool_calls)
      if (calls_.add_snapshot(std::move(piece)) != detail::llm::ToolCallFault::none) return false;
    thoughts_.begin_snapshot();
    for (detail::llm::ReasoningPiece& piece : snapshot.reasoning_pieces)
      if (!thoughts_.add_snapshot(std::move(piece))) return false;
    for (detail::llm::ReasoningDetail& piece : snapshot.reasoning_details)
      if (!thoughts_.add_snapshot(std::move(piece))) return false;
    return true;
  }

  void finish(const detail::llm::WireFormat& format) {
    std::vector<detail::llm::ItemPlace> blocks, places;
    const ReasoningBlock made{.server = "server"};
    for (const ReasoningBlock& block : thoughts_.finish(format, ReasoningRule(), made, true, blocks))
      expect(!block.data.empty() && detail::core::is_utf8(block.data) && block.server == "server");
    std::vector<ToolCall> calls;
    if (calls_.finish(calls, places) != detail::llm::ToolCallFault::none) return;
    expect(places.size() == calls.size());
    expect(calls.size() <= detail::llm::max_tool_calls);
    std::size_t bytes = 0;
    for (const ToolCall& call : calls) {
      expect(!call.name.empty());
      bytes += call.id.size() + call.name.size() + call.arguments.size();
    }
    expect(bytes <= max_bytes);
  }

 private:
  detail::llm::ToolCallAssembler calls_{max_bytes};
  detail::llm::ReasoningAssembler thoughts_{max_bytes};
};

inline void read_stream(const detail::llm::WireFormat& format, detail::llm::AnswerReader& reader,
                        std::string_view text) {
  Answer answer;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<char> exact(line.begin(), line.end());
    std::vector<char> padded = exact;
    padded.insert(padded.end(), padding.begin(), padding.end());
    const auto unused = format.make_reader();
    detail::llm::AnswerObject object, in_place, expected;
    const bool read = reader.parse_chunk({exact.data(), exact.size()}, 0, object);
    check(object);
    expect(unused->parse_chunk({exact.data(), exact.size()}, 0, expected) == read);
    expect(!read || same(object, expected));
    if (read && !answer.add(object)) return;
    expect(reader.parse_chunk({padded.data(), line.size()}, padding.size(), in_place) == read);
    check(in_place);
  }
  answer.finish(format);
}

inline void read_body(const detail::llm::WireFormat& format, detail::llm::AnswerReader& reader,
                      std::string_view text) {
  Answer answer;
  detail::llm::AnswerObject object;
  const bool read = reader.parse_body(text, object);
  check(object);
  if (read && answer.add(object)) answer.finish(format);
}

// One input, read in both ways. The reader is kept from one input to the next, as a client keeps it.
inline int read_answers(const detail::llm::WireFormat& format, const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<detail::llm::AnswerReader> reader = format.make_reader();
  const std::string_view text = text_of(data, size);
  read_stream(format, *reader, text);
  read_body(format, *reader, text);
  return 0;
}

}  // namespace agentcore::fuzz
