// The answer parser and the assembler of tool calls: any bytes, as a whole body and as the chunks of a
// stream, one on each line, end in objects or refusals, and all text in them is valid UTF-8.
#include "llm/dialects/openai_chat_reader.hpp"

#include "core/utf8.hpp"
#include "fuzz.hpp"
#include "llm/dialects/tool_call_assembler.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using fuzz::expect;
using llm::ToolCallFault;

namespace {

// Behind what is read in place: the end of the line, as in every stream, and what could be taken for a part
// of it.
const std::string padding = "\n" + std::string(63, '}');
constexpr std::size_t max_bytes = 1 << 12;  // of tool calls: small, so that it is reached

void check(const llm::AnswerObject& object) {
  expect(core::is_utf8(object.content));
  expect(!object.error || core::is_utf8(object.error->message));
  expect(object.tool_calls.size() <= llm::max_tool_calls);
  for (const llm::ToolCallPiece& piece : object.tool_calls)
    expect(core::is_utf8(piece.id) && core::is_utf8(piece.name) && core::is_utf8(piece.arguments));
}

// Whether they were taken without a fault.
bool assemble(llm::AnswerObject& object, llm::ToolCallAssembler& assembler) {
  for (llm::ToolCallPiece& piece : object.tool_calls)
    if (assembler.add(std::move(piece)) != ToolCallFault::none) return false;
  return object.tool_call_fault == ToolCallFault::none;
}

void finish(llm::ToolCallAssembler& assembler) {
  std::vector<ToolCall> calls;
  if (assembler.finish(calls) != ToolCallFault::none) return;
  expect(calls.size() <= llm::max_tool_calls);
  std::size_t bytes = 0;
  for (const ToolCall& call : calls) {
    expect(!call.name.empty());
    bytes += call.id.size() + call.name.size() + call.arguments.size();
  }
  expect(bytes <= max_bytes);
}

void read_stream(llm::OpenAiChatReader& parser, std::string_view text) {
  llm::ToolCallAssembler assembler(max_bytes);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::vector<char> exact(line.begin(), line.end());
    std::vector<char> padded = exact;
    padded.insert(padded.end(), padding.begin(), padding.end());
    llm::AnswerObject object, in_place;
    const bool read = parser.parse_chunk({exact.data(), exact.size()}, 0, object);
    check(object);
    if (read && !assemble(object, assembler)) return;
    expect(parser.parse_chunk({padded.data(), line.size()}, padding.size(), in_place) == read);
    check(in_place);
  }
  finish(assembler);
}

void read_body(llm::OpenAiChatReader& parser, std::string_view text) {
  llm::ToolCallAssembler assembler(max_bytes);
  llm::AnswerObject object;
  const bool read = parser.parse_body(text, object);
  check(object);
  if (read && assemble(object, assembler)) finish(assembler);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static llm::OpenAiChatReader parser;
  const std::string_view text = fuzz::text_of(data, size);
  read_stream(parser, text);
  read_body(parser, text);
  return 0;
}
