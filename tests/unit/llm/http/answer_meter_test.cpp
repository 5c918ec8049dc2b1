// Estimates of the tokens of an answer, for calls whose provider has sent no counts.
#include "llm/http/answer_meter.hpp"

#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Words = std::vector<std::string>;

// Texts, cut into tokens as OpenAI's tokenizers do.
const Words english = {
    "The",    " weather", " in",   " Paris", " today",  " is",   " mostly", " sunny",    ",",
    " with",  " a",       " high", " of",    " about",  " ",     "24",      " degrees",  " C",
    "elsius", ".",        " You",  " will",  " not",    " need", " an",     " umbrella", ",",
    " but",   " take",    " a",    " light", " jacket", " for",  " the",    " evening",  "."};
const Words code = {"for", " (", "int", " i", " =", " ",      "0",   ";",       " i", " <", " n", ";", " ++",
                    "i",   ")",  " {",  "\n", " ",  " total", " +=", " values", "[i", "];", "\n", "}"};
const Words chinese = {"\u4eca\u5929", "\u5df4\u9ece", "\u7684", "\u5929\u6c14", "\u4ee5", "\u6674", "\u6717",
                       "\u4e3a",       "\u4e3b",       "\uff0c", "\u6700\u9ad8", "\u6c14", "\u6e29", "\u7ea6",
                       "\u4e3a",       "24",           "\u6444", "\u6c0f",       "\u5ea6", "\u3002"};
const Words german = {"Das",    " Wetter", " in",  " Paris", " ist", " heute", " über", "wieg",
                      "end",    " sonn",   "ig",   ",",      " bei", " H",     "öch",   "st",
                      "temper", "aturen",  " von", " etwa",  " ",    "24",     " Grad", "."};

// Several tokens in one delta, as servers send that batch them.
Words in_batches(const Words& tokens, std::size_t size) {
  Words batches;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i % size == 0) batches.emplace_back();
    batches.back() += tokens[i];
  }
  return batches;
}

std::string as_json(std::string_view text) {
  std::string json;
  for (const char c : text) json += c == '\n' ? "\\n" : std::string(1, c);
  return json;
}

// The completion tokens in the outcome of a call that was stopped after these deltas.
std::uint64_t estimated(const Words& deltas) {
  CallFixture fixture;
  fixture.call->on_head({.status = 200, .content_type = all_events});
  for (const std::string& delta : deltas) fixture.call->on_body(piece(as_json(delta)));
  fixture.stop.request_stop();
  const ChatRecord& heard = fixture.end(Errc::cancelled);
  REQUIRE(heard.outcomes.size() == 1);
  CHECK_FALSE(heard.outcomes[0].usage.complete);
  return heard.outcomes[0].usage.completion_tokens;
}

// The estimate in percent of the true number.
std::uint64_t percent(const Words& deltas, const Words& tokens) {
  return estimated(deltas) * 100 / tokens.size();
}

}  // namespace

TEST_CASE("a stopped answer whose deltas are tokens is estimated by their number", "[llm][usage]") {
  for (const Words* tokens : {&english, &code, &chinese, &german}) {
    INFO((*tokens)[1]);
    CHECK(percent(*tokens, *tokens) >= 90);
    CHECK(percent(*tokens, *tokens) <= 120);
  }
}

TEST_CASE("a stopped answer whose deltas are batches of tokens is estimated closely", "[llm][usage]") {
  for (const std::size_t size : {3U, 8U, 1000U})
    for (const Words* tokens : {&english, &code, &chinese, &german}) {
      INFO((*tokens)[1] << " by " << size);
      CHECK(percent(in_batches(*tokens, size), *tokens) >= 55);
      CHECK(percent(in_batches(*tokens, size), *tokens) <= 125);
    }
}

TEST_CASE("deltas of single letters are not taken for tokens", "[llm][usage]") {
  Words letters;
  for (const std::string& token : english)
    for (const char c : token) letters.emplace_back(1, c);
  CHECK(percent(letters, english) <= 250);
}

TEST_CASE("reasoning and arguments count and repeated ones once", "[llm][usage]") {
  CallFixture fixture;
  fixture.call->on_head({.status = 200, .content_type = all_events});
  const auto delta = [](const std::string& members) {
    return R"(data: {"choices":[{"delta":{)" + members + "}}]}\n\n";
  };
  for (int i = 0; i < 10; ++i) fixture.call->on_body(delta(R"("reasoning":" hmm")"));
  fixture.call->on_body(
      delta(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{\"at"}}])"));
  for (int i = 0; i < 9; ++i)
    fixture.call->on_body(delta(R"("tool_calls":[{"index":0,"function":{"arguments":"abcd"}}])"));
  fixture.stop.request_stop();
  CHECK(fixture.end(Errc::cancelled).outcomes.at(0).usage.completion_tokens == 20);
}

TEST_CASE("an empty answer counts nothing", "[llm][usage]") {
  detail::llm::AnswerMeter meter;
  CHECK(meter.tokens() == 0);
  meter.add("");
  CHECK(meter.tokens() == 0);
  meter.add("x");
  CHECK(meter.tokens() == 1);
}
