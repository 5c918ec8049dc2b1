// Answers in the forms that servers were reported to send (tests/golden/answers), with the values that the
// documents of their providers ask for: whole, in pieces, and stopped anywhere.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/wire/golden.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const detail::llm::WireFormat& format_of(const json& answer) {
  const std::string dialect = answer.at("dialect");
  if (dialect == "openai_responses") return detail::llm::openai_responses();
  return dialect == "anthropic_messages" ? detail::llm::anthropic_messages() : detail::llm::openai_chat();
}

struct Fed {
  ChatRecord heard;
  bool is_left = false;     // anything of the call
  bool is_stopped = false;  // before the reading ended
};

// The answer in pieces of `bytes`; after `stop_after` of them the call is stopped.
Fed fed(const json& answer, std::size_t bytes, std::size_t stop_after = SIZE_MAX) {
  CallFixture fixture(answer.value("stream", true), 1 << 20, 1 << 20, format_of(answer));
  const std::string body = answer.at("body");
  fixture.call->on_head({.status = 200, .content_type = answer.value("type", all_events)});
  bool goes_on = true;
  std::size_t pieces = 0;
  for (std::size_t at = 0; at < body.size() && goes_on && pieces != stop_after;
       at += std::min(bytes, body.size()), ++pieces) {
    const std::string piece = body.substr(at, bytes);
    const std::vector<char> exact(piece.begin(), piece.end());
    goes_on = fixture.call->on_body({exact.data(), exact.size()});
  }
  Fed result;
  result.is_stopped = pieces == stop_after && goes_on;
  if (result.is_stopped) fixture.stop.request_stop();
  result.heard = fixture.end(result.is_stopped ? Errc::cancelled : Errc::none);
  result.is_left = !fixture.shared->open.empty();
  return result;
}

std::string shown(const std::vector<AnswerPart>& order) {
  std::string text;
  for (const AnswerPart& part : order) {
    if (!text.empty()) text += ' ';
    if (part.kind == AnswerPart::Kind::reasoning) text += "reasoning";
    if (part.kind == AnswerPart::Kind::tool_call) text += "call";
    if (part.kind == AnswerPart::Kind::text)
      text += (part.refusal ? "refusal " : "text ") + std::to_string(part.offset) + "+" +
              std::to_string(part.bytes);
    if (!part.id.empty()) text += ":" + part.id;
    if (!part.phase.empty()) text += "/" + part.phase;
  }
  return text;
}

json shown(const ChatRecord& heard) {
  const ChatOutcome& outcome = heard.outcomes.at(0);
  json result{{"text", heard.text()}};
  if (!heard.reasoning.empty()) result["reasoning"] = heard.reasoning;
  if (outcome.kind != ChatOutcome::Kind::completed) {
    result["end"] = "failed";
    return result;
  }
  result["end"] = to_string(outcome.finish_reason);
  for (const ToolCall& call : outcome.tool_calls)
    result["calls"].push_back(call.id + " " + call.name + " " + call.arguments);
  for (const ReasoningBlock& block : outcome.reasoning) result["blocks"].push_back(block.data);
  if (!outcome.order.empty()) result["order"] = shown(outcome.order);
  if (outcome.usage.total_tokens != 0)
    result["usage"] = {outcome.usage.prompt_tokens, outcome.usage.completion_tokens,
                       outcome.usage.cached_tokens};
  return result;
}

// Streams of each dialect.
json streams() {
  json all = json::array();
  for (const char* const name : {"openai_chat/answer.sse", "anthropic_messages/answer.sse",
                                 "openai_responses/vllm.sse", "openai_responses/llama_cpp.sse"}) {
    const std::string dialect(name, std::string_view(name).find('/'));
    all.push_back({{"name", name}, {"dialect", dialect}, {"body", read_golden(name)}});
  }
  for (const json& answer : json::parse(read_golden("answers/answers.json")))
    if (answer.at("body").get<std::string>().starts_with("data:") ||
        answer.at("body").get<std::string>().starts_with("event:"))
      all.push_back(answer);
  return all;
}

}  // namespace

TEST_CASE("answers of real servers are read as their documents say, however they are cut",
          "[llm][answers][O2][G8]") {
  for (const json& answer : json::parse(read_golden("answers/answers.json"))) {
    INFO(answer.at("name"));
    const std::string body = answer.at("body");
    for (const std::size_t bytes : {body.size() + 1, std::size_t{7}, std::size_t{1}}) {
      INFO("pieces of " << bytes);
      const Fed all = fed(answer, bytes);
      REQUIRE(all.heard.outcomes.size() == 1);
      CHECK(shown(all.heard).dump(1) == answer.at("expected").dump(1));
    }
  }
}

TEST_CASE("a stream without blank lines says the same as with them", "[llm][answers][O2]") {
  for (const json& answer : streams()) {
    INFO(answer.at("name"));
    const json expected = shown(fed(answer, SIZE_MAX).heard);
    std::string body = answer.at("body");
    std::erase(body, '\r');
    for (auto at = body.find("\n\n"); at != body.npos; at = body.find("\n\n", at)) body.erase(at, 1);
    for (const bool ends_line : {true, false}) {
      if (!ends_line && body.ends_with('\n')) body.pop_back();
      json lines = answer;
      lines["body"] = body;
      for (const std::size_t bytes : {body.size() + 1, std::size_t{7}, std::size_t{1}}) {
        INFO("pieces of " << bytes << ", with the last line end: " << ends_line);
        CHECK(shown(fed(lines, bytes).heard).dump(1) == expected.dump(1));
      }
    }
  }
}

// What is left of the last event is not taken for the whole, wherever it was cut.
TEST_CASE("a last event counts without its blank line if it is whole", "[llm][answers][O2]") {
  for (const json& answer : streams()) {
    std::string body = answer.at("body");
    std::erase(body, '\r');
    while (body.ends_with('\n')) body.pop_back();
    const auto last = body.rfind("\n\n");
    if (last == body.npos || body.find('{', last) == body.npos) continue;
    INFO(answer.at("name"));
    const auto read = [&answer](std::string_view text) {
      json some = answer;
      some["body"] = text;
      return shown(fed(some, SIZE_MAX).heard).dump(1);
    };
    CHECK(read(body) == read(body + "\n\n"));
    const std::string before = read(std::string_view(body).substr(0, last + 2));
    for (std::size_t end = last + 2; end < body.size(); ++end)
      if (read(std::string_view(body).substr(0, end)) != before) FAIL_CHECK("cut at " << end);
  }
}

// The connection broke, so that the answer is not taken for the whole, however whole its last event looks.
TEST_CASE("an answer whose connection broke is cut, also behind a whole event", "[llm][answers][O2]") {
  for (const std::string& end : {finish_chunk, done_chunk}) {
    CallFixture fixture;
    const std::string body = piece("Half") + end.substr(0, end.size() - 2);
    const ChatRecord& heard = fixture.answer(200, all_events, body, Errc::network_error);
    CHECK(heard.failed_with(Errc::network_error));
    CHECK(heard.text() == "Half");
  }
}

TEST_CASE("an answer that is stopped anywhere runs nothing and leaves nothing", "[llm][answers][G1]") {
  for (const json& answer : json::parse(read_golden("answers/answers.json"))) {
    INFO(answer.at("name"));
    const std::string body = answer.at("body"), words = answer.at("expected").at("text");
    constexpr std::size_t bytes = 7, stops = 40;
    const std::size_t pieces = (body.size() + bytes - 1) / bytes;
    for (std::size_t after = 0; after <= pieces; after += std::max<std::size_t>(1, pieces / stops)) {
      INFO("stopped after " << after << " pieces");
      const Fed cut = fed(answer, bytes, after);
      REQUIRE(cut.heard.outcomes.size() == 1);
      const ChatOutcome& outcome = cut.heard.outcomes[0];
      CHECK((outcome.kind == ChatOutcome::Kind::cancelled) == cut.is_stopped);
      if (cut.is_stopped) CHECK(outcome.tool_calls.empty());
      if (cut.is_stopped) CHECK(outcome.order.empty());
      CHECK(words.starts_with(cut.heard.text()));
      CHECK_FALSE(cut.is_left);
    }
  }
}
