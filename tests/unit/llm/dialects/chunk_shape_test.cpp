// The shape of chunks: which chunks fit it, and that they are read as the parser reads them.
#include "llm/dialects/chunk_shape.hpp"

#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::llm;
using Use = ChunkShape::Use;

namespace {

// With "%" for the values that may differ: id, time, model, content, padding.
std::string chunk_of(std::string_view id, std::string_view time, std::string_view model,
                     std::string_view content, std::string_view padding) {
  std::string chunk = R"({"id":"%","created":%,"model":"%","choices":[{"index":0,"delta":{"content":"%"},)"
                      R"("finish_reason":null}],"usage":null,"obfuscation":"%"})";
  for (const std::string_view value : {id, time, model, content, padding})
    chunk.replace(chunk.find('%'), 1, value);
  return chunk;
}

std::string chunk_of(std::string_view content) {
  return chunk_of("c-1", "17", "m", content, "xx");
}

const std::string sample = chunk_of("one");

AnswerObject plain_object(std::string_view content) {
  AnswerObject object;
  object.has_choice = true;
  object.content = content;
  object.model = "m";
  return object;
}

// Marks the values of a chunk that chunk_of() made.
void mark_values(ChunkShape& shape, std::string_view chunk) {
  const auto mark = [&](std::string_view name, Use use) {
    const std::size_t at = chunk.find(name);
    if (at != std::string_view::npos) shape.mark(chunk.substr(at + name.size()), use);
  };
  mark(R"("id":)", Use::none);
  mark(R"("created":)", Use::none);
  mark(R"("model":)", Use::model);
  mark(R"("content":)", Use::content);
  mark(R"("usage":)", Use::none);
  mark(R"("obfuscation":)", Use::none);
}

void learn(ChunkShape& shape, std::string_view chunk, const AnswerObject& object) {
  shape.begin_marks();
  mark_values(shape, chunk);
  shape.learn(chunk, object);
}

struct Parsed {
  bool ok = false;
  std::string content;
  std::string model;
  bool has_choice = false;

  bool operator==(const Parsed&) const = default;
};

// From a block of the heap that ends where the chunk does, so that a read outside it is noticed.
template <typename Read>
Parsed parsed(std::string_view chunk, Read&& read) {
  const std::vector<char> exact(chunk.begin(), chunk.end());
  AnswerObject object;
  const bool ok = read(std::string_view(exact.data(), exact.size()), object);
  return {ok, std::string(object.content), std::string(object.model), object.has_choice};
}

Parsed by_shape(ChunkShape& shape, std::string_view chunk) {
  return parsed(chunk,
                [&](std::string_view text, AnswerObject& object) { return shape.read(text, 0, object); });
}

// A shape that has learned `sample`.
Parsed by_shape(std::string_view chunk) {
  ChunkShape shape;
  learn(shape, sample, plain_object("one"));
  return by_shape(shape, chunk);
}

Parsed by_parser(OpenAiChatReader& reader, std::string_view chunk) {
  return parsed(chunk, [&](std::string_view text, AnswerObject& object) {
    return reader.parse_chunk(text, 0, object);
  });
}

bool fits(std::string_view chunk) {
  return by_shape(chunk).ok;
}

}  // namespace

TEST_CASE("a chunk with another text and other unused values fits", "[llm][openai]") {
  CHECK(by_shape(sample) == Parsed{true, "one", "m", true});
  CHECK(by_shape(chunk_of("two")) == Parsed{true, "two", "m", true});
  CHECK(by_shape(chunk_of("")) == Parsed{true, "", "m", true});
  CHECK(by_shape(chunk_of("once")) == Parsed{true, "once", "m", true});
  CHECK(by_shape(chunk_of("on")) == Parsed{true, "on", "m", true});
  CHECK(by_shape(chunk_of("c-22", "1", "other", std::string(2000, 'y'), "")) ==
        Parsed{true, std::string(2000, 'y'), "other", true});
  CHECK(by_shape(chunk_of("", "123456", "", "one", R"(\u00e9\q)")) == Parsed{true, "one", "", true});
}

TEST_CASE("a text that fits is unescaped", "[llm][openai]") {
  CHECK(by_shape(chunk_of(R"(a\n\"b\" \\)")).content == "a\n\"b\" \\");
  CHECK(by_shape(chunk_of(R"(\ud83d\ude00)")).content == "\xF0\x9F\x98\x80");
  CHECK_FALSE(by_shape(chunk_of(R"(\ud83d)")).ok);
  CHECK_FALSE(by_shape(chunk_of(R"(\ude00)")).ok);
  CHECK(by_shape(chunk_of(R"(a\ud83db)")).content ==
        "a\xEF\xBF\xBD"
        "b");
  CHECK(by_shape(chunk_of("caf\xC3\xA9")).content == "caf\xC3\xA9");
  CHECK(by_shape(chunk_of("c-1", "17", R"(a\/b)", "one", "xx")).model == "a/b");
}

TEST_CASE("a chunk with an invalid text does not fit", "[llm][openai]") {
  for (const std::string text :
       {"\n", "a long text with a tab\tin it", "\xFF", "a long text \xC3", "\xED\xA0\x80", "\\\n", "\\\x1F",
        "\"", "a\\", "a long text with a quote \\"}) {
    INFO(text);
    CHECK_FALSE(fits(chunk_of(text)));
    CHECK_FALSE(fits(chunk_of("c-1", "17", "m", "one", text)));
  }
  CHECK_FALSE(fits(chunk_of("\\q")));
  CHECK_FALSE(fits(chunk_of("\\u12")));
  CHECK_FALSE(fits(chunk_of("c-1", "17", "\\q", "one", "xx")));
  CHECK(fits(chunk_of("c-1", "17", "m", "one", "\\q")));  // the reader does not unescape it
  for (const std::string time : {"", "null", "\"17\"", "-1", "1.5", "x", "1 7"}) {
    INFO(time);
    CHECK_FALSE(fits(chunk_of("c-1", time, "m", "one", "xx")));
  }
}

TEST_CASE("a chunk that begins like the sample, or goes on after it, does not fit", "[llm][openai]") {
  for (std::size_t size = 0; size < sample.size(); ++size) CHECK_FALSE(fits(sample.substr(0, size)));
  CHECK_FALSE(fits(sample + "}"));
  CHECK_FALSE(fits(sample + " "));
  CHECK_FALSE(fits(sample + sample));
}

TEST_CASE("a changed byte gives what a new reader reads", "[llm][openai]") {
  for (std::size_t at = 0; at < sample.size(); ++at) {
    for (const char byte :
         {'"', '\\', ',', ':', '}', ']', '[', '{', '0', '9', 'x', ' ', '\n', '\xC3', '\0'}) {
      std::string changed = sample;
      changed[at] = byte;
      OpenAiChatReader used, unused;
      CHECK(by_parser(used, sample).ok);
      const Parsed expected = by_parser(unused, changed);
      if (by_parser(used, changed) == expected) continue;
      INFO(changed);
      CHECK(by_parser(used, changed) == expected);
    }
  }
}

TEST_CASE("a reader takes the shape of the chunks that it reads", "[llm][openai]") {
  struct Delta {
    std::string json;
    std::string content;
  };
  for (const Delta& delta :
       {Delta{R"({"content":"%"})", "%"}, Delta{R"({"content":"first","content":"%"})", "%"},
        Delta{R"({"content":"%","content":"last"})", "last"}, Delta{R"({"content":"%","content":null})", "%"},
        Delta{R"({"refusal":"no","content":"%"})", "%no"},
        Delta{R"({"content":"%","content":[{"type":"text","text":"part"}]})", "part"}}) {
    OpenAiChatReader reader;
    for (const std::string text : {"a", "b", "cd", "e"}) {
      const auto filled = [&text](std::string form) {
        const std::size_t at = form.find('%');
        return at == std::string::npos ? form : form.replace(at, 1, text);
      };
      const std::string chunk = R"({"model":"n","choices":[{"delta":)" + filled(delta.json) + "}]}";
      CHECK(by_parser(reader, chunk).content == filled(delta.content));
    }
  }
}

TEST_CASE("nothing is learned from a chunk that holds more than a text", "[llm][openai]") {
  std::vector<ToolCallPiece> calls(1);
  std::vector<ReasoningPiece> pieces(1);
  std::vector<ReasoningDetail> details(1);
  const std::vector<std::string> items(1);
  const std::vector<TextPiece> texts(1);
  const Snapshot snapshot;
  const auto learns = [](auto&& change) {
    AnswerObject object = plain_object("one");
    change(object);
    ChunkShape shape;
    learn(shape, sample, object);
    return by_shape(shape, sample).ok;
  };
  CHECK(learns([](AnswerObject&) {}));
  CHECK_FALSE(learns([](AnswerObject& object) { object.has_choice = false; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.refused = true; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.ends = true; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.snapshot = &snapshot; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.texts = texts; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.content_cut.high = 0xD83D; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.reasoning_cut.low = 0xDE00; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.begins_block = true; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.finish_reason = FinishReason::unknown; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.usage.emplace(); }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.cost = 0; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.error.emplace(); }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.reasoning = "r"; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.answering_model = "m"; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.begins = "c"; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.text_in_details = "d"; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.too_many_details = true; }));
  CHECK_FALSE(learns([](AnswerObject& object) { object.tool_call_fault = ToolCallFault::too_many; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.tool_calls = calls; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.reasoning_pieces = pieces; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.reasoning_details = details; }));
  CHECK_FALSE(learns([&](AnswerObject& object) { object.other_items = items; }));
}

TEST_CASE("nothing is learned without marks, from a large chunk, or from an invalid one", "[llm][openai]") {
  const AnswerObject object = plain_object("one");
  ChunkShape shape;
  shape.learn(sample, object);
  CHECK_FALSE(by_shape(shape, sample).ok);
  shape.begin_marks();
  shape.learn(sample, object);
  CHECK_FALSE(by_shape(shape, sample).ok);
  learn(shape, {}, object);
  CHECK_FALSE(by_shape(shape, {}).ok);
  learn(shape, chunk_of("c-1", "17", "m", "one", std::string(4096, 'x')), object);
  CHECK_FALSE(by_shape(shape, sample).ok);
  shape.begin_marks();
  mark_values(shape, sample);
  for (int i = 0; i < 16; ++i) shape.mark(sample, Use::none);
  shape.learn(sample, object);
  CHECK_FALSE(by_shape(shape, sample).ok);
  learn(shape, sample, object);
  CHECK(by_shape(shape, sample).ok);
  CHECK_FALSE(by_shape(shape, chunk_of("c-1", "17", "m", "one", std::string(4096, 'x'))).ok);
}

TEST_CASE("samples that no chunk fits are taken after longer and longer pauses", "[llm][openai]") {
  ChunkShape shape;
  const auto other = [](int number) { return "{\"" + std::to_string(number) + R"(":0,"content":"one"})"; };
  const auto learns = [&](const std::string& chunk) {
    learn(shape, chunk, plain_object("one"));
    ChunkShape copy = shape;
    return by_shape(copy, chunk).ok;
  };
  int samples = 0;
  for (int i = 0; i < 1000; ++i) samples += learns(other(i)) ? 1 : 0;
  CHECK(samples > 2);
  CHECK(samples < 20);
  while (!learns(sample)) continue;
  for (int i = 0; i < 300; ++i) CHECK(by_shape(shape, sample).ok);  // shortens the pauses again
  while (!learns(other(0))) continue;
  CHECK(learns(other(1)));
}
