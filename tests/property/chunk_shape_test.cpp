// What a reader has read before does not change what it reads.
#include "llm/dialects/openai_chat_reader.hpp"
#include "property/any_history.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

// All of an object.
std::string described(const AnswerObject& object) {
  std::string text = fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", object.content, object.reasoning,
                                 object.model, object.answering_model, object.begins, object.text_in_details,
                                 object.has_choice, object.refused, object.ends, object.snapshot != nullptr,
                                 object.begins_block, object.too_many_details);
  text += fmt::format("|{}|{}|{}", object.finish_reason ? static_cast<int>(*object.finish_reason) : -1,
                      object.cost.value_or(-1), static_cast<int>(object.tool_call_fault));
  text += fmt::format("|cut {} {}", object.content_cut.low, object.content_cut.high);
  if (object.snapshot != nullptr) text += fmt::format("|snapshot {}", object.snapshot->content);
  if (object.usage) text += fmt::format("|usage {}", object.usage->usage().total_tokens);
  if (object.error)
    text += fmt::format("|error {} {} {}", object.error->message, object.error->status,
                        fmt::join(object.error->codes, ","));
  for (const ToolCallPiece& piece : object.tool_calls)
    text += fmt::format("|call {} {} {}", piece.id, piece.name, piece.arguments);
  for (const ReasoningPiece& piece : object.reasoning_pieces)
    text += fmt::format("|piece {} {}", piece.text, piece.block);
  for (const ReasoningDetail& detail : object.reasoning_details)
    text += fmt::format("|detail {}", detail.members.size());
  for (const std::string& item : object.other_items) text += "|item " + item;
  return text;
}

// What the reader reads: in place, with other bytes behind, or in a block that ends where the chunk does.
std::string read(AnswerReader& reader, std::string_view chunk, bool in_place) {
  std::vector<char> bytes(chunk.begin(), chunk.end());
  if (in_place) bytes.insert(bytes.end(), 64, '"');
  AnswerObject object;
  const bool ok = reader.parse_chunk({bytes.data(), chunk.size()}, bytes.size() - chunk.size(), object);
  return ok ? described(object) : "invalid";
}

// A JSON string, sometimes of bytes that are none.
std::string any_text() {
  const std::string broken = *rc::gen::weightedElement<std::string>({{40, ""},
                                                                     {1, "\\q"},
                                                                     {1, "\\ud83d"},
                                                                     {1, "\\u00e9"},
                                                                     {1, "\\"},
                                                                     {1, "\""},
                                                                     {1, "\n"},
                                                                     {1, "\x1F"},
                                                                     {1, "\xC3"},
                                                                     {1, "\xED\xA0\x80"},
                                                                     {1, "\",\"error\":\""}});
  const bool ascii = *rc::gen::arbitrary<bool>();
  std::string text = nlohmann::json(*property_test::any_words()).dump(-1, ' ', ascii);
  return text.insert(*rc::gen::inRange<std::size_t>(1, text.size()), broken);
}

std::string any_count() {
  return *rc::gen::element<std::string>("0", "17", "18", "170", "1767225600", "-1", "1.5", "007", "null",
                                        "1e3", "");
}

// With "%" for a text and "#" for a count.
std::string any_form() {
  return *rc::gen::element<std::string>(
      R"({"id":%,"created":#,"model":%,"choices":[{"index":0,"delta":{"content":%},"finish_reason":null}],"p":%})",
      R"({"choices": [ {"delta": {"role":"assistant","content": % } , "index": # } ], "model": % , "id": % })",
      R"({"id":%,"choices":[{"delta":{"content":%,"content":%}}]})",
      R"({"id":%,"choices":[{"delta":{"content":%,"content":[{"type":"text","text":%}]}}]})",
      R"({"model":%,"model":%,"choices":[{"delta":{"content":%,"refusal":%}}]})",
      R"({"choices":[{"delta":{"content":%}}],"usage":{"total_tokens":#},"x":%,"y":#,"z":#})",
      R"({"choices":[{"delta":{"content":%,"reasoning_content":%},"finish_reason":%}]})",
      R"({"choices":[{"index":1,"delta":{"content":%}},{"delta":{"content":%}}],"message":%,"type":%})",
      R"({"error":%,"choices":[{"delta":{"content":%}}],"%":1,"detail":%})");
}

std::string any_chunk(const std::string& form) {
  std::string chunk;
  for (const char c : form) {
    if (c == '%') {
      chunk += any_text();
    } else if (c == '#') {
      chunk += any_count();
    } else {
      chunk += c;
    }
  }
  if (*rc::gen::inRange(0, 8) == 0)
    chunk[*rc::gen::inRange<std::size_t>(0, chunk.size())] = *rc::gen::arbitrary<char>();
  if (*rc::gen::inRange(0, 16) == 0) chunk.resize(*rc::gen::inRange<std::size_t>(0, chunk.size()));
  return chunk;
}

}  // namespace

TEST_CASE("a chunk is read the same whatever was read before", "[property][llm][openai]") {
  prop("a reader of many chunks reads each as a new reader does", [] {
    const std::unique_ptr<AnswerReader> used = openai_chat().make_reader();
    const std::vector<std::string> forms{any_form(), any_form()};
    for (int left = *rc::gen::inRange(1, 20); left > 0; --left) {
      const std::string chunk = any_chunk(forms[*rc::gen::weightedElement<std::size_t>({{7, 0}, {1, 1}})]);
      const bool in_place = *rc::gen::arbitrary<bool>();
      const std::unique_ptr<AnswerReader> unused = openai_chat().make_reader();
      RC_ASSERT(read(*used, chunk, in_place) == read(*unused, chunk, in_place));
    }
  });
}
