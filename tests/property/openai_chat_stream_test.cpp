// Streams of the OpenAI chat dialect: however they are framed and cut into packets, the same answer comes
// out; and broken off anywhere, they end in order.
#include "property/any_history.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;
using test::CallFixture;

namespace {

// What a valid stream says, and the chunks in which it does.
struct Script {
  std::vector<json> chunks;
  std::string text;
  std::string reasoning;
  std::optional<std::string> signed_text;  // in reasoning_details
  std::vector<ToolCall> calls;
  FinishReason finish = FinishReason::complete;
  Usage usage{};
};

json chunk_of(json delta, json finish = nullptr) {
  json choice{{"index", 0}, {"delta", std::move(delta)}, {"finish_reason", std::move(finish)}};
  return {{"id", "c"}, {"model", "m"}, {"choices", json::array({std::move(choice)})}};
}

json details_of(const std::string& text) {
  return json::array({{{"type", "reasoning.text"}, {"text", text}, {"index", 0}}});
}

void say(Script& script) {
  const std::string words = *property_test::any_words();
  const int kind = *rc::gen::inRange(0, 6);
  if (kind == 0) {
    script.chunks.push_back(chunk_of({{"reasoning", words}, {"reasoning_details", details_of(words)}}));
    script.reasoning += words;
    script.signed_text = script.signed_text.value_or("") + words;
  } else if (kind == 1) {
    script.chunks.push_back(chunk_of({{"reasoning_content", words}}));
    script.reasoning += words;
  } else {
    script.chunks.push_back(chunk_of({{"content", words}}));
    script.text += words;
  }
}

// A call whose arguments come in two pieces.
void call(Script& script) {
  const std::size_t index = script.calls.size();
  ToolCall made{"call_" + std::to_string(index), "look", json{{"at", *property_test::any_words()}}.dump()};
  const auto cut = *rc::gen::inRange<std::size_t>(0, made.arguments.size());
  const auto piece = [&](json function) {
    json entry{{"index", index}, {"function", std::move(function)}};
    if (entry["function"].contains("name")) entry["id"] = made.id;
    script.chunks.push_back(chunk_of({{"tool_calls", json::array({std::move(entry)})}}));
  };
  std::size_t at = cut;  // not within a character: servers cut between them
  while (at > 0 && (static_cast<unsigned char>(made.arguments[at]) & 0xC0U) == 0x80U) --at;
  piece({{"name", made.name}, {"arguments", made.arguments.substr(0, at)}});
  piece({{"arguments", made.arguments.substr(at)}});
  script.calls.push_back(std::move(made));
}

// What is given back of the answer: its reasoning_details, if it had any and calls tools.
bool keeps_details(const Script& script, const ChatOutcome& outcome) {
  const json wanted = script.calls.empty() || !script.signed_text
                          ? json()
                          : json{{"reasoning_details", details_of(*script.signed_text)}};
  for (const ReasoningBlock& block : outcome.reasoning)
    if (const json data = json::parse(block.data); data.contains("reasoning_details")) return data == wanted;
  return wanted.is_null();
}

Script any_script() {
  Script script;
  for (int left = *rc::gen::inRange(0, 8); left > 0; --left) say(script);
  for (int left = *rc::gen::inRange(0, 3); left > 0; --left) call(script);
  if (!script.calls.empty()) script.finish = FinishReason::tool_calls;
  script.chunks.push_back(chunk_of(json::object(), script.calls.empty() ? "stop" : "tool_calls"));
  if (*rc::gen::arbitrary<bool>()) {
    script.usage = {3, 4, 7};
    script.chunks.push_back(
        {{"choices", json::array()}, {"usage", {{"prompt_tokens", 3}, {"completion_tokens", 4}}}});
  }
  script.usage.complete = script.usage.total_tokens != 0;
  return script;
}

// One event: its JSON on one data line or on several, with comments and other fields around, all lines with
// one kind of end.
std::string any_event(const std::string& data) {
  const std::string end = *rc::gen::element<std::string>("\n", "\r", "\r\n");
  const auto extra = [] {
    return *rc::gen::element<std::string>("", "", "", ":", ": keep-alive", "id: 7", "event: x");
  };
  std::string event;
  const auto add = [&](const std::string& line) { event += line.empty() ? "" : line + end; };
  add(extra());
  for (std::size_t at = 0; at <= data.size();) {
    const std::size_t stop = std::min(data.find('\n', at), data.size());
    add((*rc::gen::arbitrary<bool>() ? "data: " : "data:") + data.substr(at, stop - at));
    add(extra());
    at = stop + 1;
  }
  return event + end;
}

std::string any_framing(const Script& script) {
  std::string stream = *rc::gen::element<std::string>("", "\xEF\xBB\xBF", ": OPENROUTER PROCESSING\n\n");
  for (const json& chunk : script.chunks) {
    const bool ascii = *rc::gen::arbitrary<bool>();
    stream += any_event(chunk.dump(*rc::gen::element(-1, -1, 1), ' ', ascii));
  }
  return *rc::gen::arbitrary<bool>() ? stream + any_event("[DONE]") : stream;
}

// Feeds the stream in packets of any size, each a block of the heap of its own.
void feed(CallFixture& fixture, std::string_view stream) {
  fixture.call->on_head({.status = 200, .content_type = test::all_events});
  for (bool more = true; more && !stream.empty();) {
    const auto size = std::min(*rc::gen::inRange<std::size_t>(1, 60), stream.size());
    const std::vector<char> packet(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size));
    more = fixture.call->on_body({packet.data(), packet.size()});
    stream.remove_prefix(size);
  }
}

}  // namespace

TEST_CASE("a stream gives the same result however it is framed and split", "[property][llm][openai]") {
  prop("any framing in any packets gives the text, the thoughts, the calls and the account of the stream",
       [] {
         const Script script = any_script();
         CallFixture fixture;
         feed(fixture, any_framing(script));
         const test::ChatRecord& heard = fixture.end();
         RC_ASSERT(heard.completed());
         const ChatOutcome& outcome = heard.outcomes[0];
         RC_ASSERT(heard.text() == script.text);
         RC_ASSERT(heard.reasoning == script.reasoning);
         RC_ASSERT(outcome.tool_calls == script.calls);
         RC_ASSERT(keeps_details(script, outcome));
         RC_ASSERT(outcome.finish_reason == script.finish);
         RC_ASSERT(outcome.usage == script.usage);
       });
}

TEST_CASE("a stream that ends anywhere has exactly one outcome", "[property][llm][openai][G10]") {
  prop("any beginning of a stream is a beginning of its answer, with one outcome: all of it, or an error",
       [] {
         const Script script = any_script();
         const std::string stream = any_framing(script);
         CallFixture fixture;
         feed(fixture, std::string_view(stream).substr(0, *rc::gen::inRange<std::size_t>(0, stream.size())));
         const bool in_order = *rc::gen::arbitrary<bool>();
         const test::ChatRecord& heard = fixture.end(in_order ? Errc::none : Errc::network_error);
         RC_ASSERT(heard.outcomes.size() == 1U);
         RC_ASSERT(script.text.starts_with(heard.text()));
         RC_ASSERT(script.reasoning.starts_with(heard.reasoning));
         const ChatOutcome& outcome = heard.outcomes[0];
         if (heard.completed()) {
           RC_ASSERT(heard.text() == script.text);
           RC_ASSERT(outcome.tool_calls == script.calls);
           RC_ASSERT(outcome.finish_reason == script.finish);
         } else {
           RC_ASSERT(heard.failed_with(Errc::network_error));
           RC_ASSERT(outcome.error.retryable);
           RC_ASSERT(outcome.tool_calls.empty());
           RC_ASSERT(!outcome.usage.complete);
         }
       });
}
