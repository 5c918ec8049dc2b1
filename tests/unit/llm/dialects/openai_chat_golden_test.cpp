// The OpenAI chat dialect, byte for byte: requests as they are sent, answers as they come, and the request
// that gives an answer back.
#include "llm/dialects/openai_chat_reader.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/messages.hpp"
#include "support/wire/golden.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/history.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using test::read_golden;

namespace {

const detail::llm::BodyDefaults defaults{
    .model = "gpt-5-mini",
    .max_tokens = 100,
    .max_tokens_field = "max_completion_tokens",
    .extra_body = R"({"seed":7,"top_p":0.25,"provider":{"z":[1],"a":"\u00fc"}})"};

ChatRequest maximal() {
  std::vector<ChatMessage> messages = {ChatMessage::system("Be \"brief\".\n"),
                                       ChatMessage::user("What is on these?")};
  messages[1].append(std::vector<ContentPart>(test::two_pictures()));
  return test::maximal_request(std::move(messages));
}

const std::string said = "Caf\xC3\xA9 \xF0\x9F\x98\x80, one moment.";
const std::string thought = "Two cities: ask for both.";

void check_answer(const test::ChatRecord& heard) {
  REQUIRE(heard.completed());
  const ChatOutcome& outcome = heard.outcomes[0];
  CHECK(heard.text() == said);
  CHECK(heard.reasoning == thought);
  CHECK(outcome.finish_reason == FinishReason::tool_calls);
  CHECK(outcome.tool_calls == std::vector<ToolCall>{{"call_a1", "weather",
                                                     R"({"city":"Troms)"
                                                     "\xC3\xB8"
                                                     R"("})"},
                                                    {"call_b2", "weather", R"({"city":"Rome"})"}});
  CHECK(outcome.usage == Usage{120, 45, 165, 64, 20});
  CHECK(outcome.model == "gpt-5-mini-2025-08-07");
}

ChatOutcome heard_outcome(const std::string& type, const std::string& bytes, test::ChatRecord& record) {
  test::CallFixture fixture(type == test::all_events);
  fixture.answer(200, type, bytes);
  record = fixture.heard;
  return record.outcomes.at(0);
}

// The conversation that goes on after an answer: what was asked, what it said, what came of its calls.
std::vector<ChatMessage> history_after(const ChatOutcome& outcome, const std::string& text) {
  std::vector<ChatMessage> history = {ChatMessage::system("Be brief."),
                                      ChatMessage::user("Where is it warm?")};
  ChatMessage answer = ChatMessage::assistant(text);
  answer.append(std::vector<ToolCall>(outcome.tool_calls));
  test::put_reasoning(answer, outcome.reasoning);
  history.push_back(std::move(answer));
  for (const ToolCall& call : outcome.tool_calls) {
    ChatMessage result = ChatMessage::tool_result({},
                                                  "12 \xC2\xB0"
                                                  "C");
    result.tool_call_id = call.id;
    history.push_back(std::move(result));
  }
  return history;
}

std::string request_with(std::vector<ChatMessage> history) {
  ChatRequest request;
  request.messages = std::move(history);
  return detail::llm::openai_chat_body(request, {.model = "gpt-5-mini"});
}

}  // namespace

TEST_CASE("golden: a chat request with every option", "[llm][openai][golden][O2]") {
  CHECK(detail::llm::openai_chat_body(maximal(), defaults) + "\n" == read_golden("openai_chat/request.json"));
}

TEST_CASE("golden: a minimal chat request", "[llm][openai][golden][O2]") {
  ChatRequest request;
  request.model = "m";
  request.messages = {test::marked(ChatMessage::user("Why?"), Interruption::aborted)};
  request.stream = false;
  CHECK(detail::llm::openai_chat_body(request, {}) + "\n" == read_golden("openai_chat/small_request.json"));
}

TEST_CASE("golden: a streamed answer", "[llm][openai][golden]") {
  test::ChatRecord heard;
  heard_outcome(test::all_events, read_golden("openai_chat/answer.sse"), heard);
  check_answer(heard);
}

TEST_CASE("golden: the same answer as a whole", "[llm][openai][golden]") {
  test::ChatRecord heard;
  heard_outcome(test::json_type, read_golden("openai_chat/answer.json"), heard);
  check_answer(heard);
}

TEST_CASE("golden: an error", "[llm][openai][golden][X19]") {
  test::CallFixture fixture;
  fixture.answer(429, test::json_type, read_golden("openai_chat/error.json"));
  REQUIRE(fixture.heard.failed_with(Errc::api_error));
  CHECK(
      fixture.heard.error().message ==
      "HTTP 429: Rate limit reached for gpt-5-mini in organization org-x on requests per min (RPM): Limit 3, "
      "Used 3, Requested 1. Please try again in 20s. (make fewer calls at a time (CallLimits), or try again "
      "later)");
  CHECK(fixture.heard.error().retryable);
}

TEST_CASE("golden: a chat answer and its results are in the next request", "[llm][openai][golden][G8]") {
  for (const auto& [type, name] : {std::pair{test::all_events, "openai_chat/answer.sse"},
                                   std::pair{test::json_type, "openai_chat/answer.json"}}) {
    test::ChatRecord heard;
    const ChatOutcome outcome = heard_outcome(type, read_golden(name), heard);
    const std::vector<ChatMessage> history = history_after(outcome, heard.text());
    CHECK(is_valid_history(history));
    const std::string request = request_with(history);
    CHECK(request + "\n" == read_golden("openai_chat/next_request.json"));
    CHECK(request_with(history_from_json(history_to_json(history)).value()) == request);
  }
}
