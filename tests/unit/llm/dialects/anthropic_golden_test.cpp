// The Anthropic Messages dialect, byte for byte: requests as they are sent, answers as they come, and the
// request that gives an answer back.
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/messages.hpp"
#include "support/wire/golden.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/history.hpp>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;
using test::answer;
using test::maximal_request;
using test::read_golden;
using test::result;
using test::two_pictures;

namespace {

const detail::llm::BodyDefaults defaults{
    .model = "claude-sonnet-4-5",
    .max_tokens = 100,
    .max_tokens_field = "ignored",
    .extra_body =
        R"({"thinking":{"type":"enabled","budget_tokens":1024},"top_p":0.95,"metadata":{"user_id":"\u00fc"}})"};

std::vector<ChatMessage> long_history() {
  std::vector<ChatMessage> messages = {
      ChatMessage::system("Be \"brief\".\n"),
      test::marked(ChatMessage::user("This one was never answered."), Interruption::aborted),
      ChatMessage::user("What is on these?"),
      answer("I look it up.",
             {{"toolu_1", "weather", R"({"z": "Rome", "a": {"y":1,"b":2}})"},
              {"functions.clock:0", "clock", "not JSON"}},
             {{"openai_responses", R"({"type":"reasoning"})"},
              {"anthropic_messages", R"({"type":"thinking","thinking":"Hm.","signature":"Eq=="})"},
              {"anthropic_messages", "[1]"}}),
      result("toolu_1",
             "12 \xC2\xB0"
             "C"),
      result("functions.clock:0", ""),
      answer("Sunny."),
      answer(" \n"),
      ChatMessage::user("And now?"),
      ChatMessage::system("It is night."),
  };
  messages[2].append(std::vector<ContentPart>(two_pictures()));
  return messages;
}

ChatRequest maximal() {
  ChatRequest request = maximal_request(long_history());
  request.parallel_tool_calls = false;
  request.temperature = 1.5;
  request.max_tokens = 3000;
  request.stop_sequences = {"END", "###"};
  return request;
}

const std::string said = "Caf\xC3\xA9 \xF0\x9F\x98\x80, one moment.";
const std::string thought = "Two cities: ask for both.";

void check_answer(const test::ChatRecord& heard) {
  REQUIRE(heard.completed());
  const ChatOutcome& outcome = heard.outcomes[0];
  CHECK(heard.text() == said);
  CHECK(heard.reasoning == thought);
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(outcome.tool_calls == std::vector<ToolCall>{{"toolu_01A", "weather",
                                                     R"({"city": "Troms)"
                                                     "\xC3\xB8"
                                                     R"(", "at": 7})"},
                                                    {"toolu_01B", "clock", "{}"}});
  CHECK(
      outcome.reasoning ==
      std::vector<ReasoningBlock>{
          {"anthropic_messages",
           R"({"type":"thinking","thinking":"Two cities: ask for both.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"})"},
          {"anthropic_messages", R"({"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"})"}});
  CHECK(outcome.usage == Usage{120, 45, 165, 64, 20, true, 40});
  CHECK(outcome.model == "claude-sonnet-4-5-20250929");
}

test::ChatRecord heard_of(const std::string& name, int status = 200) {
  const bool streamed = name.ends_with(".sse");
  test::CallFixture fixture(streamed, 1 << 20, 1 << 20, detail::llm::anthropic_messages());
  return fixture.answer(status, streamed ? test::all_events : test::json_type,
                        read_golden("anthropic_messages/" + name));
}

// The conversation that goes on after an answer: what was asked, what it said, what came of its calls.
std::vector<ChatMessage> history_after(const test::ChatRecord& heard) {
  const ChatOutcome& outcome = heard.outcomes.at(0);
  std::vector<ChatMessage> history = {ChatMessage::system("Be brief."),
                                      ChatMessage::user("Where is it warm?")};
  history.push_back(answer(heard.text(), outcome.tool_calls, outcome.reasoning));
  for (const ToolCall& call : outcome.tool_calls)
    history.push_back(result(call.id,
                             "12 \xC2\xB0"
                             "C"));
  return history;
}

std::string request_with(std::vector<ChatMessage> history) {
  ChatRequest request;
  request.messages = std::move(history);
  return detail::llm::anthropic_messages_body(request, {.model = "claude-sonnet-4-5"});
}

void check_golden(const std::string& body, const std::string& name) {
  const std::string golden = read_golden("anthropic_messages/" + name);
  CHECK(json::parse(body) == json::parse(golden));
  CHECK(body + "\n" == golden);
}

}  // namespace

TEST_CASE("golden: an Anthropic request with every option", "[llm][anthropic][golden][O2]") {
  check_golden(detail::llm::anthropic_messages_body(maximal(), defaults), "request.json");
}

TEST_CASE("golden: a minimal Anthropic request", "[llm][anthropic][golden][O2]") {
  ChatRequest request;
  request.model = "m";
  request.messages = {test::marked(ChatMessage::user("Why?"), Interruption::aborted)};
  request.stream = false;
  check_golden(detail::llm::anthropic_messages_body(request, {}), "small_request.json");
}

TEST_CASE("golden: an Anthropic answer as a stream and as a whole", "[llm][anthropic][golden]") {
  check_answer(heard_of("answer.sse"));
  check_answer(heard_of("answer.json"));
}

TEST_CASE("golden: an Anthropic answer and its results are in the next request",
          "[llm][anthropic][golden][G8]") {
  for (const char* name : {"answer.sse", "answer.json"}) {
    INFO(name);
    const std::vector<ChatMessage> history = history_after(heard_of(name));
    CHECK(is_valid_history(history));
    check_golden(request_with(history), "next_request.json");
  }
}

TEST_CASE("golden: Anthropic errors before and in the middle of a stream", "[llm][anthropic][golden][X19]") {
  const test::ChatRecord refused = heard_of("error.json", 529);
  REQUIRE(refused.failed_with(Errc::api_error));
  CHECK(refused.error().message == "HTTP 529: Overloaded (the server has failed; try again later)");
  CHECK(refused.error().retryable);

  const test::ChatRecord broken_off = heard_of("error.sse");
  REQUIRE(broken_off.failed_with(Errc::api_error));
  CHECK(broken_off.error().message == "Overloaded");
  CHECK(broken_off.error().retryable);
  CHECK(broken_off.text() == "One mo");
  CHECK(broken_off.outcomes[0].usage.prompt_tokens == 9);
}

TEST_CASE("golden: an Anthropic refusal", "[llm][anthropic][golden]") {
  const test::ChatRecord heard = heard_of("refusal.sse");
  REQUIRE(heard.completed());
  CHECK(heard.text() == "First");
  CHECK(heard.outcomes[0].finish_reason == FinishReason::refusal);
  CHECK(heard.outcomes[0].usage == Usage{9, 5, 14});
}
