// Requests as they are written, answers as they are read.
#include "llm/dialects/openai_chat_reader.hpp"

#include "core/utf8.hpp"
#include "llm/http/error_class.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::detail::llm;

namespace {

const std::string one_chunk =
    R"({"id":"c1","object":"chat.completion.chunk","created":17,"model":"m","choices":[{"index":0,"delta":)"
    R"({"role":"assistant","content":" caf\u00e9 \ud83d\ude00\n"},"logprobs":null,"finish_reason":null}],)"
    R"("usage":null})";

struct Parsed {
  bool ok;
  std::string content;
  AnswerObject object;
};

// From a block of the heap that ends where the JSON does, so that a read outside it is noticed.
Parsed chunk(std::string_view json) {
  static OpenAiChatReader parser;
  const std::vector<char> exact(json.begin(), json.end());
  Parsed parsed;
  parsed.ok = parser.parse_chunk({exact.data(), exact.size()}, 0, parsed.object);
  parsed.content = parsed.object.content;
  return parsed;
}

// Read in place, with other bytes after it.
Parsed chunk_in_place(std::string_view json, std::string_view behind) {
  static OpenAiChatReader parser;
  std::string all(json);
  all += behind;
  all.append(64, ' ');
  Parsed parsed;
  parsed.ok = parser.parse_chunk(std::string_view(all).substr(0, json.size()), all.size() - json.size(),
                                 parsed.object);
  parsed.content = parsed.object.content;
  return parsed;
}

Parsed body(std::string_view json) {
  OpenAiChatReader parser;
  Parsed parsed;
  parsed.ok = parser.parse_body(json, parsed.object);
  if (parsed.object.snapshot != nullptr) parsed.content = parsed.object.snapshot->content;
  parsed.object.snapshot = nullptr;  // it is the reader's
  return parsed;
}

std::string delta(std::string_view content) {
  return R"({"choices":[{"delta":{"content":)" + std::string(content) + "}}]}";
}

std::string error_of(std::string_view json) {
  const Parsed parsed = body(json);
  REQUIRE(parsed.ok);
  return parsed.object.error ? parsed.object.error->message : "(none)";
}

}  // namespace

TEST_CASE("a chat request has model and messages and options", "[llm][O2]") {
  ChatRequest request;
  request.messages = {ChatMessage::system("Be brief."),
                      test::marked(ChatMessage::user("Why?"), Interruption::aborted)};
  request.temperature = 0.5;
  request.max_tokens = 100;
  const auto json = nlohmann::json::parse(openai_chat_body(request, {.model = "m1"}));
  CHECK(json["model"] == "m1");
  CHECK(json["messages"].size() == 2);
  CHECK(json["messages"][0] == nlohmann::json{{"role", "system"}, {"content", "Be brief."}});
  CHECK(json["messages"][1] ==
        nlohmann::json{{"role", "user"}, {"content", "Why?"}});  // and no interruption (G11)
  CHECK(json["temperature"] == 0.5);
  CHECK(json["max_tokens"] == 100);
  CHECK(json["stream"] == true);
  CHECK(json["stream_options"]["include_usage"] == true);
}

TEST_CASE("a request without streaming has stream false", "[llm][O2]") {
  ChatRequest request;
  request.model = "own";
  request.stream = false;
  const auto json = nlohmann::json::parse(openai_chat_body(request, {.model = "m1"}));
  CHECK(json["model"] == "own");
  CHECK_FALSE(json.contains("stream"));
  CHECK_FALSE(json.contains("stream_options"));
  CHECK_FALSE(json.contains("temperature"));
}

TEST_CASE("broken UTF-8 in a request is replaced", "[llm]") {
  prop("a request's body is JSON in UTF-8, whatever the messages hold", [](const std::string& bytes) {
    ChatRequest request;
    request.messages = {ChatMessage::user(bytes)};
    const std::string text = openai_chat_body(request, {.model = bytes});
    RC_ASSERT(detail::core::is_utf8(text));
    RC_ASSERT(nlohmann::json::accept(text));
  });
}

TEST_CASE("a chunk's text is unescaped", "[llm]") {
  const Parsed parsed = chunk(one_chunk);
  CHECK(parsed.ok);
  CHECK(parsed.content == " caf\xC3\xA9 \xF0\x9F\x98\x80\n");
  CHECK(parsed.object.has_choice);
  CHECK_FALSE(parsed.object.finish_reason);
  CHECK_FALSE(parsed.object.usage);
  CHECK_FALSE(parsed.object.error);
}

TEST_CASE("a chunk without text is accepted", "[llm]") {
  for (const char* json :
       {R"({"choices":[{"delta":{}}]})", R"({"choices":[{"delta":{"content":null}}]})",
        R"({"choices":[{"delta":{"content":7}}]})", R"({"choices":[{"delta":null}]})",
        R"({"choices":[{"delta":{"role":"assistant","content":""}}]})", R"({"choices":[{}]})",
        R"({"choices":[]})", R"({"choices":null})", R"({"choices":{}})", R"({"choices":[1,[]]})", "{}"}) {
    INFO(json);
    CHECK(chunk(json).ok);
    CHECK(chunk(json).content.empty());
  }
}

TEST_CASE("finish reasons are translated", "[llm]") {
  const auto reason = [](std::string word) {
    return chunk(R"({"choices":[{"delta":{},"finish_reason":)" + word + "}]}").object.finish_reason;
  };
  CHECK(reason("\"stop\"") == FinishReason::complete);
  CHECK(reason("\"length\"") == FinishReason::length);
  CHECK(reason("\"content_filter\"") == FinishReason::content_filter);
  CHECK(reason("\"tool_calls\"") == FinishReason::tool_calls);
  CHECK(reason("\"function_call\"") == FinishReason::tool_calls);
  CHECK(reason("\"something new\"") == FinishReason::other);
  CHECK_FALSE(reason("null"));
  CHECK_FALSE(reason("\"\""));
  CHECK_FALSE(reason("5"));
}

TEST_CASE("usage is read from any chunk", "[llm]") {
  const auto usage = [](std::string json) {
    const auto counts = chunk(R"({"choices":[],"usage":)" + json + "}").object.usage;
    return counts ? std::optional(counts->usage()) : std::nullopt;
  };
  CHECK(
      usage(
          R"({"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"prompt_tokens_details":{"a":[1]}})") ==
      Usage{3, 4, 7});
  CHECK(usage(R"({"prompt_tokens":3,"completion_tokens":4})") == Usage{3, 4, 7});
  CHECK(usage(R"({"prompt_tokens":3.0,"completion_tokens":-1,"total_tokens":1e400})") == Usage{3, 0, 3});
  CHECK(usage(R"({"total_tokens":99999999999999999999999999,"prompt_tokens":"7"})") == Usage{});
  CHECK_FALSE(usage("null"));
}

TEST_CASE("error objects are read in every common form", "[llm]") {
  CHECK(error_of(R"({"error":{"message":"no","type":"t","code":"c"}})") == "no");
  CHECK(error_of(R"({"error":"no"})") == "no");
  CHECK(error_of(R"({"message":"no"})") == "no");
  CHECK(error_of(R"({"object":"error","message":"no","code":400})") == "no");
  CHECK(error_of(R"({"detail":"no"})") == "no");
  CHECK(error_of(R"({"detail":[{"loc":["body"],"msg":"no","type":"x"}]})") == "body: no");
  CHECK(error_of(R"([{"error":{"code":400,"message":"no"}}])") == "no");
  CHECK(error_of(R"({"error":{"type":"overloaded"}})") == "overloaded");
  CHECK(error_of(R"({"error":{}})") == "an error without a message");
  CHECK(error_of(R"({"error":null,"choices":[{"message":{"content":"x"}}]})") == "(none)");
  CHECK(error_of(R"({"error":null})") == "(none)");
}

TEST_CASE("an error object may be retryable", "[llm][X19]") {
  const auto retryable = [](const char* json) {
    return detail::llm::classify(200, *body(json).object.error).retryable;
  };
  CHECK(retryable(R"({"error":{"message":"x","code":502}})"));
  CHECK(retryable(R"({"error":{"message":"x","code":429}})"));
  CHECK(retryable(R"({"error":{"message":"x","type":"server_error"}})"));
  CHECK(retryable(R"({"error":{"message":"x","code":"rate_limit_exceeded"}})"));
  CHECK_FALSE(retryable(R"({"error":{"message":"x","code":401}})"));
  CHECK_FALSE(retryable(R"({"error":{"message":"x","type":"invalid_request_error","code":null}})"));
}

TEST_CASE("a whole answer is read", "[llm]") {
  const Parsed parsed =
      body(R"({"id":"1","choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],)"
           R"("usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}})");
  CHECK(parsed.ok);
  CHECK(parsed.content == "Hi");
  CHECK(parsed.object.finish_reason == FinishReason::complete);
  REQUIRE(parsed.object.usage);
  CHECK(parsed.object.usage->usage() == Usage{1, 2, 3});
  CHECK(body(R"({"choices":[{"message":{"content":null},"finish_reason":"tool_calls"}]})").object.has_choice);
}

TEST_CASE("a whole answer is checked to the last byte", "[llm][O5]") {
  for (const char* text : {"", " ", "<html>", "{", "}", R"({"choices":[)", R"({"a":tru,"choices":[]})",
                           "{} {}", "nope", R"({"a":"b)", "\"text\"", "7", "null", R"({"a":01})"}) {
    INFO(text);
    CHECK_FALSE(body(text).ok);
  }
  CHECK(body("\xEF\xBB\xBF {\"choices\":[]} \n").ok);
}

TEST_CASE("a large object with few characters is refused", "[llm][G15]") {
  const auto saying = [](std::size_t bytes) { return delta('"' + std::string(bytes, '\xFF') + '"'); };
  CHECK(chunk(saying(30'000)).content.size() == 90'000);
  CHECK_FALSE(chunk(saying(40'000)).ok);
  CHECK(body(saying(30'000)).ok);
  CHECK_FALSE(body(saying(40'000)).ok);
  CHECK(body(delta('"' + std::string(1'000'000, 'x') + "\xFF\"")).ok);
}

TEST_CASE("chat deltas are always valid UTF-8", "[llm]") {
  CHECK(chunk(delta("\"a\xFFz\"")).content == "a\xEF\xBF\xBDz");
  CHECK(chunk(delta("\"\xE2\x82\"")).content == "\xEF\xBF\xBD");
  CHECK(chunk(delta(R"("a\ud83dz")")).content == "a\xEF\xBF\xBDz");
  CHECK(chunk(delta(R"("x\ude00\"")")).content == "x\xEF\xBF\xBD\"");
  CHECK(chunk(delta(R"("\ud83d\ud83d\ude00")")).content == "\xEF\xBF\xBD\xF0\x9F\x98\x80");
  CHECK_FALSE(chunk(delta(R"("\x")")).ok);
  CHECK_FALSE(chunk(delta(R"("\u12")")).ok);
}

TEST_CASE("halves of a pair at the ends of a piece are kept apart from its text", "[llm]") {
  const auto cut_of = [](const char* text) {
    const Parsed parsed = chunk(delta(text));
    return std::pair(parsed.content, parsed.object.content_cut);
  };
  using detail::llm::CutPair;
  CHECK(cut_of(R"("\ude00\"")") == std::pair(std::string("\""), CutPair{0xDE00, 0}));
  CHECK(cut_of(R"("a\ud83d")") == std::pair(std::string("a"), CutPair{0, 0xD83D}));
  CHECK(cut_of(R"("\ud83d")") == std::pair(std::string(), CutPair{0, 0xD83D}));
  CHECK(cut_of(R"("\ude00\ud83d")") == std::pair(std::string(), CutPair{0xDE00, 0xD83D}));
  CHECK(cut_of(R"("\ud83d\ude00")") == std::pair(std::string("\xF0\x9F\x98\x80"), CutPair{}));
  CHECK(cut_of(R"("\\ud83d")") == std::pair(std::string("\\ud83d"), CutPair{}));
  CHECK(cut_of(R"("\\\ud83d")") == std::pair(std::string("\\"), CutPair{0, 0xD83D}));
}

TEST_CASE("duplicate text members do not overwrite each other", "[llm][G15]") {
  const auto message = [](std::string members) {
    return chunk(R"({"choices":[{"delta":{)" + members + "}}]}");
  };
  const std::string lone = R"("\ud800z")", longer = R"("\ud800)" + std::string(100, 'x') + "\"";
  CHECK(message(R"("reasoning_content":)" + lone + R"(,"reasoning":)" + longer).object.reasoning ==
        "\xEF\xBF\xBDz");
  CHECK(message(R"("reasoning":)" + lone + R"(,"content":[{"type":"text","text":"a"}])").object.reasoning ==
        "\xEF\xBF\xBDz");
  const Parsed refused =
      message(R"("content":)" + lone + R"(,"content":"\ud800)" + std::string(100, 'x') + R"(\x")");
  CHECK_FALSE(refused.ok);
  CHECK(refused.content.empty());
}

TEST_CASE("no prefix of a chunk is accepted", "[llm]") {
  for (std::size_t size = 0; size < one_chunk.size(); ++size) {
    const auto begin = std::string_view(one_chunk).substr(0, size);
    if (chunk(begin).ok) FAIL("the first " << size << " bytes");
    if (chunk_in_place(begin, std::string_view(one_chunk).substr(size)).ok)
      FAIL("the first " << size << " in place");
    if (chunk_in_place(begin, "}]}}\"]}]}}").ok) FAIL("the first " << size << " before brackets");
  }
  CHECK(chunk(one_chunk).ok);
  CHECK(chunk_in_place(one_chunk, "\n\ndata: {").ok);
  CHECK_FALSE(chunk(one_chunk + "}").ok);
  CHECK_FALSE(chunk(one_chunk + " 5").ok);
}

TEST_CASE("hostile chunks end in an answer or an error", "[llm][G15]") {
  CHECK_FALSE(chunk(std::string(100000, '[')).ok);
  CHECK_FALSE(chunk(std::string(100000, '{')).ok);
  CHECK_FALSE(chunk(R"({"a":)" + std::string(100000, '[') + "}").ok);
  CHECK_FALSE(body(R"({"a":)" + std::string(1000, '[') + std::string(1000, ']') + "}").ok);
  CHECK(chunk(delta("\"" + std::string(300000, 'x') + "\"")).content.size() == 300000);
  CHECK(chunk(delta("\"small again\"")).content == "small again");
  CHECK(chunk(R"({"choices":[{"delta":{"content":"a","content":"b"}}],"choices":[]})").ok);
}

TEST_CASE("broken JSON ends in an answer or an error", "[llm][G15]") {
  prop("whatever bytes of a chunk are changed, a chunk is read or refused, and its text is valid UTF-8", [] {
    std::string json = *rc::gen::element(
        one_chunk, std::string(R"({"error":{"message":"a\u0041","code":5},"usage":{"total_tokens":12}})"),
        std::string(
            R"({"detail":[{"msg":"x"}],"message":"y","choices":[{"message":{"content":"\ud800"}}]})"));
    for (int left = *rc::gen::inRange(1, 6); left > 0; --left) {
      const auto at = *rc::gen::inRange<std::size_t>(0, json.size());
      const char byte =
          *rc::gen::oneOf(rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'n'),
                          rc::gen::arbitrary<char>());
      if (*rc::gen::inRange(0, 3) > 0) {
        json[at] = byte;
      } else {
        json.insert(at, 1, byte);
      }
    }
    const Parsed parsed = chunk(json);
    RC_ASSERT(detail::core::is_utf8(parsed.content));
    RC_ASSERT(detail::core::is_utf8(chunk_in_place(json, "}]\"}").content));
    RC_ASSERT(detail::core::is_utf8(body(json).content));
  });
}

TEST_CASE("any text survives encoding and decoding", "[llm]") {
  prop("a text that a JSON library wrote is read as it was", [](const std::string& bytes) {
    const bool ascii = *rc::gen::arbitrary<bool>();
    const auto text = nlohmann::json(bytes).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
    const Parsed parsed = chunk(delta(text));
    RC_ASSERT(parsed.ok);
    RC_ASSERT(parsed.content == nlohmann::json::parse(text).get<std::string>());
  });
}

TEST_CASE("tool calls and their results are in the request", "[llm][openai][G8]") {
  agentcore::ChatRequest request;
  agentcore::ChatMessage asking = agentcore::ChatMessage::assistant("");
  asking.items.emplace_back(ToolCall{"call_1", "look", R"({"at":"sea"})"});
  agentcore::ChatMessage result = agentcore::ChatMessage::tool_result({}, "blue");
  result.tool_call_id = "call_1";
  request.messages = {agentcore::ChatMessage::user("hi"), asking, result};
  const auto body = nlohmann::json::parse(openai_chat_body(request, {.model = "m"}));
  CHECK(body["messages"][0] == nlohmann::json{{"role", "user"}, {"content", "hi"}});
  CHECK(body["messages"][1] == nlohmann::json::parse(R"({"role":"assistant","content":"","tool_calls":[
      {"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"at\":\"sea\"}"}}]})"));
  CHECK(body["messages"][2] ==
        nlohmann::json{{"role", "tool"}, {"content", "blue"}, {"tool_call_id", "call_1"}});
}
