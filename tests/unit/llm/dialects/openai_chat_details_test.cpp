// OpenRouter's reasoning_details: put together from what is streamed, shown once, kept and given back.
#include "core/utf8.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/messages.hpp"
#include "support/prop.hpp"

#include <agentcore/history.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const std::string call =
    R"("tool_calls":[{"index":0,"id":"tool_a","type":"function","function":{"name":"look","arguments":"{}"}}])";

std::string delta(const std::string& members) {
  return R"(data: {"choices":[{"delta":{)" + members + "}}]}\n\n";
}
std::string details(const std::string& entries) {
  return R"("reasoning_details":[)" + entries + "]";
}
// A stream of a chunk for each, then of a call of a tool.
std::string stream_of(const std::vector<std::string>& chunks) {
  std::string stream;
  for (const std::string& members : chunks) stream += delta(members);
  return stream + delta(call) + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
}
ChatRecord streamed(const std::vector<std::string>& chunks) {
  CallFixture fixture;
  return fixture.answer(200, all_events, stream_of(chunks));
}
ChatRecord whole(const std::string& members) {
  CallFixture fixture(false);
  return fixture.answer(
      200, json_type,
      R"({"choices":[{"message":{)" + members + "," + call + R"(},"finish_reason":"tool_calls"}]})");
}

// What the next request says of it, after it was in a history.
json given_back(const ChatRecord& heard) {
  const ChatOutcome& outcome = heard.outcomes.at(0);
  ChatMessage message = ChatMessage::assistant("");
  message.append(outcome.tool_calls);
  test::put_reasoning(message, outcome.reasoning);
  ChatRequest request;
  request.messages = history_from_json(history_to_json({ChatMessage::user("?"), message})).value();
  const json sent = json::parse(detail::llm::openai_chat_body(request, {.model = "m"}))["messages"][1];
  CHECK(sent["tool_calls"].size() == 1);
  return sent.value("reasoning_details", json());
}
// The same of the pieces of a stream, a chunk each.
json joined(const std::vector<std::string>& pieces) {
  std::vector<std::string> chunks;
  for (const std::string& piece : pieces) chunks.push_back(details(piece));
  const json apart = given_back(streamed(chunks));
  std::string all;
  for (const std::string& piece : pieces) all += (all.empty() ? "" : ",") + piece;
  CHECK(given_back(streamed({details(all)})) == apart);  // all in one chunk
  return apart;
}
json list(const std::string& entries) {
  return json::parse("[" + entries + "]");
}

const std::string encrypted =
    R"({"type":"reasoning.encrypted","data":"CiQB","id":"tool_a","format":"google-gemini-v1","index":0})";

}  // namespace

TEST_CASE("streamed reasoning details of Claude are sent back to OpenRouter as one signed detail",
          "[llm][openai][details]") {
  const std::string rest = R"("format":"anthropic-claude-v1","index":0})";
  const auto text = [&](const std::string& words) {
    return R"("reasoning":")" + words + R"(",)" +
           details(R"({"type":"reasoning.text","text":")" + words + R"(",)" + rest);
  };
  const ChatRecord heard =
      streamed({text("Let"), text(" me \\\"look\\\"."),
                R"("content":"","reasoning":null,)" +
                    details(R"({"type":"reasoning.text","signature":"ErUB+/=","id":null,)" + rest)});
  CHECK(heard.reasoning == "Let me \"look\".");
  CHECK(
      given_back(heard) ==
      list(R"({"type":"reasoning.text","text":"Let me \"look\".","signature":"ErUB+/=","id":null,)" + rest));
}

TEST_CASE("reasoning details are kept unchanged and in order", "[llm][openai][details]") {
  const ChatRecord heard = streamed({details(R"({"type":"z","a":{"y":1,"b":[true,null]},"x":1.50})")});
  REQUIRE(heard.outcomes.at(0).reasoning.size() == 1);
  CHECK(heard.outcomes[0].reasoning[0] ==
        ReasoningBlock{"openai_chat",
                       R"({"reasoning_details":[{"type":"z","a":{"y":1,"b":[true,null]},"x":1.50}]})"});
}

TEST_CASE("the reasoning details of a whole message are sent back unchanged", "[llm][openai][details]") {
  const std::string entries = R"({"type":"reasoning.text","text":"a","index":0},)"
                              R"({"type":"reasoning.text","text":"b","index":0},)" +
                              encrypted + "," + encrypted + R"(,{"type":"else","more":{"x":[1,"\u00fc"]}})";
  const ChatRecord heard = whole(R"("content":"","reasoning":"ab",)" + details(entries));
  CHECK(heard.reasoning == "ab");
  CHECK(given_back(heard) == list(entries));
}

TEST_CASE("only pieces of the same reasoning detail are merged", "[llm][openai][details]") {
  const auto text = [](const std::string& words, const std::string& more) {
    return R"({"type":"reasoning.text","text":")" + words + "\"" + more + "}";
  };
  const auto data = [](const std::string& bytes, const std::string& more) {
    return R"({"type":"reasoning.encrypted","data":")" + bytes + "\"" + more + "}";
  };
  const std::string zero = R"(,"index":0)", one = R"(,"index":1)", a = R"(,"id":"a")", b = R"(,"id":"b")";
  CHECK(joined({text("x", zero), text("y", zero)}) == list(text("xy", zero)));
  CHECK(joined({text("x", zero), text("y", "")}) == list(text("xy", zero)));
  CHECK(joined({text("x", ""), text("y", zero)}) == list(text("xy", zero)));
  CHECK(joined({text("x", zero), text("y", R"(,"index":null)")}) == list(text("xy", zero)));
  CHECK(joined({text("x", zero + a), text("y", zero)}) == list(text("xy", zero + a)));
  CHECK(joined({text("x", zero + R"(,"id":null)"), text("y", zero + b)}) == list(text("xy", zero + b)));
  CHECK(joined({data("x", zero), data("y", zero)}) == list(data("xy", zero)));
  const std::string summary = R"({"type":"reasoning.summary","summary":")";
  CHECK(joined({summary + "x\"}", summary + "y\"}"}) == list(summary + "xy\"}"));
  for (const auto& [first, second] :
       {std::pair{text("x", zero), text("y", one)}, std::pair{text("x", zero + a), text("y", zero + b)},
        std::pair{text("x", zero), data("y", zero)}, std::pair{data("x", ""), data("y", "")},
        std::pair{data("x", zero + a), data("y", zero + b)}, std::pair{data("x", zero), data("y", "")}})
    CHECK(joined({first, second}) == list(first + "," + second));
  // What lies between ends an entry.
  CHECK(joined({text("x", zero), text("y", one), text("z", zero)}) ==
        list(text("x", zero) + "," + text("y", one) + "," + text("z", zero)));
}

TEST_CASE("the newest non-empty value of a repeated member counts", "[llm][openai][details]") {
  const auto piece = [](const std::string& more) { return R"({"type":"t","index":0,)" + more + "}"; };
  CHECK(joined({piece(R"("signature":null)"), piece(R"("signature":"a")"), piece(R"("signature":"")"),
                piece(R"("signature":null)")}) == list(piece(R"("signature":"a")")));
  CHECK(joined({piece(R"("signature":"a")"), piece(R"("signature":"b")")}) ==
        list(piece(R"("signature":"b")")));
  CHECK(joined({piece(R"("text":null)"), piece(R"("text":"x")"), piece(R"("text":7)"),
                piece(R"("text":null)")}) == list(piece(R"("text":7)")));
}

TEST_CASE("reasoning details are the same wherever their texts are split", "[llm][openai][details]") {
  const std::vector<std::string> letters = {
      "a",        "\\n", "\\\"",    "\\\\",    "\\ud83d",         "\\ude00",
      "\xC3\xBC", "}",   "\\u00fc", "\\u005c", "\xF0\x9F\x98\x80"};
  for (const char* name : {"text", "summary", "data"})
    for (std::size_t cut = 0; cut <= letters.size(); ++cut) {
      std::string parts[2];
      for (std::size_t i = 0; i < letters.size(); ++i) parts[i >= cut] += letters[i];
      const auto piece = [&](const std::string& words) {
        return R"({"type":"t","index":0,")" + std::string(name) + "\" : \"" + words + "\" }";
      };
      INFO(name << " " << cut);
      CHECK(joined({piece(parts[0]), piece(parts[1])}) == list(piece(parts[0] + parts[1])));
    }
}

TEST_CASE("reasoning details are the same wherever the stream is split", "[llm][openai][details]") {
  const std::string stream =
      stream_of({R"("reasoning":"H",)" + details(R"({"type":"reasoning.text","text":"H","index":0})"),
                 R"("reasoning":"m",)" + details(R"({"type":"reasoning.text","text":"m","index":0})"),
                 details(encrypted)});
  const json expected = list(R"({"type":"reasoning.text","text":"Hm","index":0},)" + encrypted);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CallFixture fixture;
    fixture.call->on_head({.status = 200, .content_type = all_events});
    for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)})
      if (!part.empty()) fixture.call->on_body(part);
    const ChatRecord& heard = fixture.end();
    CHECK(heard.reasoning == "Hm");
    CHECK(given_back(heard) == expected);
  }
}

TEST_CASE("reasoning that is only in details is reported", "[llm][openai][details]") {
  const auto said = [](const std::vector<std::string>& chunks) { return streamed(chunks).reasoning; };
  const std::string text = details(R"({"type":"reasoning.text","text":"Hm"})");
  const std::string mixed = details(R"({"type":"reasoning.summary","summary":"So\ud83d"},)" + encrypted +
                                    R"(,{"type":"reasoning.text","text":"."})");
  CHECK(said({text}) == "Hm");
  CHECK(said({R"("reasoning":null,)" + text, R"("reasoning":"",)" + text}) == "HmHm");
  CHECK(said({mixed}) == "So\xEF\xBF\xBD.");
  CHECK(said({details(encrypted)}).empty());
  CHECK(whole(R"("content":"x",)" + text).reasoning == "Hm");
  CHECK(said({text + R"(,"content":"x")"}) == "Hm");
}

TEST_CASE("reasoning that is sent twice is reported once", "[llm][openai][details]") {
  const std::string text = details(R"({"type":"reasoning.text","text":"Hm"})");
  for (const char* name : {"reasoning", "reasoning_content"}) {
    const std::string words = "\"" + std::string(name) + R"(":"Hm")";
    for (const std::vector<std::string>& chunks :
         {std::vector{words + "," + text}, std::vector{text + "," + words}, std::vector{words, text},
          std::vector{text, words}})
      CHECK(streamed(chunks).reasoning == "Hm");
    CHECK(whole(words + "," + text).reasoning == "Hm");
    CHECK(streamed({words + "," + text, words + "," + text}).reasoning == "HmHm");
  }
}

TEST_CASE("reasoning details of an answer without calls are not kept", "[llm][openai][details]") {
  CallFixture fixture;
  fixture.answer(200, all_events, delta(details(encrypted)) + piece("Hi") + finish_chunk);
  REQUIRE(fixture.heard.completed());
  CHECK(fixture.heard.outcomes[0].reasoning.empty());
}

TEST_CASE("invalid reasoning details are skipped", "[llm][openai][details][G15]") {
  for (const char* none : {"null", "7", "\"x\"", "{}", "[]", "true"}) {
    INFO(none);
    CHECK(given_back(streamed({R"("reasoning_details":)" + std::string(none)})).is_null());
  }
  const std::string good = R"({"type":"t","index":0})";
  std::string members;
  for (int i = 0; i < 64; ++i) members += ",\"" + std::to_string(i) + "\":0";
  for (const std::string& bad :
       {std::string("null"), std::string("7"), std::string("\"x\""), std::string("[{}]"), std::string("{}"),
        std::string(R"({"text":"x"})"), std::string(R"({"type":null})"), std::string(R"({"type":7})"),
        std::string(R"({"type":["t"]})"), R"({"type":"x")" + members + "}",
        R"({"type":"x","y":)" + std::string(70, '[') + std::string(70, ']') + "}",
        std::string(R"({"type":"x","y":{"z":"\ud800"}})")}) {
    INFO(bad);
    CHECK(given_back(streamed({details(bad + "," + good)})) == list(good));
    CHECK(given_back(streamed({details(good), details(bad)})) == list(good));
    CHECK(given_back(whole(details(bad + "," + good))) == list(good));
  }
  CHECK(given_back(streamed({details(R"({"type":"x\ud800","\ud800":"\udc00"})")})) ==
        json::parse("[{\"type\":\"x\xEF\xBF\xBD\",\"\xEF\xBF\xBD\":\"\xEF\xBF\xBD\"}]"));
}

TEST_CASE("the number of reasoning details of an answer is limited", "[llm][openai][details][limits]") {
  const auto entries = [](int from, int to) {
    std::string all;
    for (int i = from; i < to; ++i)
      all += (all.empty() ? "" : ",") + (R"({"type":"t","index":)" + std::to_string(i) + "}");
    return all;
  };
  CHECK(given_back(streamed({details(entries(0, 1000))})).size() == 1000);
  CHECK(given_back(streamed({details(entries(0, 500)), details(entries(499, 1000))})).size() == 1000);
  CHECK(streamed({details(entries(0, 1001))}).failed_with(Errc::response_too_large));
  CHECK(streamed({details(entries(0, 500)), details(entries(500, 1001))})
            .failed_with(Errc::response_too_large));
  CHECK(whole(details(entries(0, 1001))).failed_with(Errc::response_too_large));
}

TEST_CASE("the size of the reasoning details of an answer is limited", "[llm][openai][details][limits]") {
  const auto heard = [](const std::string& member, std::size_t times) {
    CallFixture fixture(true, 1 << 20, 4000);
    return fixture.answer(
        200, all_events,
        stream_of(std::vector<std::string>(times, details(R"({"type":"t","index":0,)" + member + "}"))));
  };
  const std::string x(100, 'x');
  CHECK(heard(R"("text":")" + x + "\"", 30).completed());
  CHECK(heard(R"("text":")" + x + "\"", 50).failed_with(Errc::response_too_large));
  CHECK(heard(R"("signature":")" + x + "\"", 500).completed());  // only the last one is held
}

TEST_CASE("a request with any reasoning details is JSON in UTF-8", "[llm][openai][details]") {
  prop("entries with a few bytes changed", [] {
    std::string body = stream_of({details(R"({"type":"reasoning.text","text":"\ud83d\ude00","index":0})"),
                                  details(encrypted + R"(,{"type":"x","y":{"z":[1,"\u00fc"]}})")});
    for (int left = *rc::gen::inRange(1, 6); left > 0; --left)
      body[*rc::gen::inRange<std::size_t>(0, body.size())] = *rc::gen::oneOf(
          rc::gen::element('"', '\\', '{', '}', '[', ']', ',', ':', '0', 'n'), rc::gen::arbitrary<char>());
    CallFixture fixture;
    const ChatRecord& heard = fixture.answer(200, all_events, body);
    RC_ASSERT(heard.outcomes.size() == 1U);
    RC_ASSERT(detail::core::is_utf8(heard.reasoning));
    for (const ReasoningBlock& block : heard.outcomes[0].reasoning) {
      RC_ASSERT(detail::core::is_utf8(block.data));
      RC_ASSERT(json::parse(block.data).is_object());
    }
  });
}
