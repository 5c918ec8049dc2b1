// Streams of the Anthropic Messages dialect: however they are cut into pieces, wherever they end; and
// requests, whatever is in them.
#include "core/utf8.hpp"
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "property/any_history.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/prop.hpp"
#include "support/wire/golden.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;
using test::ChatRecord;

namespace {

// What is heard of a stream that comes in these pieces.
ChatRecord heard_of(const std::vector<std::string_view>& pieces) {
  test::CallFixture fixture(true, 1 << 20, 1 << 20, detail::llm::anthropic_messages());
  fixture.call->on_head({.status = 200, .content_type = test::all_events});
  for (const std::string_view piece : pieces)
    if (!fixture.call->on_body(piece)) break;
  return fixture.end();
}

// Pieces of 1 byte to all that is left.
std::vector<std::string_view> any_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  const int most = *rc::gen::element(1, 7, 100, 10000);
  while (!text.empty()) {
    const auto size = std::min(text.size(), static_cast<std::size_t>(*rc::gen::inRange(1, most + 1)));
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

std::string golden_stream() {
  return test::read_golden("anthropic_messages/" +
                           *rc::gen::element<std::string>("answer.sse", "refusal.sse"));
}

bool same(const ChatOutcome& a, const ChatOutcome& b) {
  return a.kind == b.kind && a.finish_reason == b.finish_reason && a.usage == b.usage &&
         a.tool_calls == b.tool_calls && a.reasoning == b.reasoning && a.model == b.model &&
         a.error.code == b.error.code;
}

// Anything that a conversation may hold, in an order that no valid one has.
ChatMessage any_message() {
  const auto text = [] {
    return *rc::gen::oneOf(property_test::any_words(), rc::gen::arbitrary<std::string>());
  };
  const auto some = [] { return *rc::gen::inRange(0, 3); };
  ChatMessage message{.role = *rc::gen::element(Role::system, Role::user, Role::assistant, Role::tool),
                      .items = {TextItem{text()}}};
  for (int left = some(); left > 0; --left)
    message.items.emplace_back(
        ToolCall{text(), text(),
                 *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                                 rc::gen::element<std::string>("{}", "{\"a\":1}", "[", "{\"\xFF\":2}"))});
  for (int left = some(); left > 0; --left)
    message.items.emplace_back(ContentPart{.url = text(), .data = text(), .media_type = text()});
  for (int left = some(); left > 0; --left)
    message.items.emplace_back(ReasoningBlock{
        *rc::gen::element<std::string>("anthropic_messages", "openai_responses"),
        *rc::gen::oneOf(rc::gen::arbitrary<std::string>(),
                        rc::gen::element<std::string>("{}", "[]", "{\"type\":\"thinking\"}"))});
  message.tool_call_id = text();
  return message;
}

ChatRequest any_request() {
  ChatRequest request;
  for (int left = *rc::gen::inRange(0, 12); left > 0; --left) request.messages.push_back(any_message());
  const auto text = [] { return *rc::gen::arbitrary<std::string>(); };
  request.model = text();
  request.tools = {{text(), text(), text()}};
  request.tool_choice = {*rc::gen::element(ToolChoice::Mode::automatic, ToolChoice::Mode::named), text()};
  request.response_format = {ResponseFormat::Kind::json_schema, text(), text()};
  request.stop_sequences = {text()};
  request.reasoning_effort = text();
  return request;
}

void check_message(const json& message, bool assistant) {
  RC_ASSERT(message["role"] == (assistant ? "assistant" : "user"));
  RC_ASSERT(!message["content"].empty());
  bool results = true;  // as far as they go
  for (const json& block : message["content"]) {
    if (!block.contains("type")) continue;  // a thought that is {}
    if (block["type"] == "text")
      RC_ASSERT(block["text"].get<std::string>().find_first_not_of(" \t\r\n\f\v") != std::string::npos);
    if (block["type"] == "tool_use") RC_ASSERT(block["input"].is_object());
    const bool result = block["type"] == "tool_result";
    RC_ASSERT(!result || results);
    results = result;
  }
}

}  // namespace

TEST_CASE("an Anthropic stream gives the same result however it is split", "[property][llm][anthropic]") {
  prop("pieces of any size give the outcome and the words of the whole stream", [] {
    const std::string stream = golden_stream();
    const ChatRecord whole = heard_of({stream}), cut = heard_of(any_pieces(stream));
    RC_ASSERT(whole.completed());
    RC_ASSERT(cut.outcomes.size() == 1U);
    RC_ASSERT(same(cut.outcomes[0], whole.outcomes[0]));
    RC_ASSERT(cut.text() == whole.text());
    RC_ASSERT(cut.reasoning == whole.reasoning);
  });
}

TEST_CASE("a truncated Anthropic stream is complete only with a stop reason", "[property][llm][anthropic]") {
  prop("a beginning gives words of the whole, and fails in time to be tried again", [] {
    const std::string stream = golden_stream();
    const auto size = *rc::gen::inRange<std::size_t>(0, stream.size());
    const std::string begin = stream.substr(0, size);
    const ChatRecord whole = heard_of({stream}), heard = heard_of(any_pieces(begin));
    RC_ASSERT(heard.outcomes.size() == 1U);
    const std::size_t reason = stream.find("\"message_delta\"");
    const bool said = size > stream.find("\n\n", reason) + 1;
    RC_ASSERT(heard.completed() == said);
    RC_ASSERT(!said || same(heard.outcomes[0], whole.outcomes[0]));
    RC_ASSERT(said || heard.failed_with(Errc::network_error));
    RC_ASSERT(whole.text().starts_with(heard.text()));
    RC_ASSERT(whole.reasoning.starts_with(heard.reasoning));
    RC_ASSERT(detail::core::is_utf8(heard.text()));
  });
}

TEST_CASE("any Anthropic request is JSON in UTF-8 with alternating roles", "[property][llm][anthropic]") {
  prop("messages of any role, words, calls, pictures and thoughts", [] {
    const std::string text = detail::llm::anthropic_messages_body(any_request(), {.model = "m"});
    RC_ASSERT(detail::core::is_utf8(text));
    const json body = json::parse(text, nullptr, false);
    RC_ASSERT(body.is_object());
    bool assistant = false;
    for (std::size_t i = 0; i < body["messages"].size(); ++i) {
      const json& message = body["messages"][i];
      if (i == 0) assistant = message["role"] == "assistant";
      check_message(message, assistant);
      assistant = !assistant;
    }
  });
  prop("a valid history keeps every call and every result", [] {
    ChatRequest request;
    request.messages = property_test::HistoryWriter(0).write(*rc::gen::inRange(1, 6));
    const json body = json::parse(detail::llm::anthropic_messages_body(request, {.model = "m"}));
    std::vector<std::string> calls, results;
    for (const json& message : body["messages"])
      for (const json& block : message["content"]) {
        if (block["type"] == "tool_use") calls.push_back(block["id"]);
        if (block["type"] == "tool_result") results.push_back(block["tool_use_id"]);
      }
    std::ranges::sort(results);
    std::ranges::sort(calls);
    RC_ASSERT(results == calls);
  });
}
