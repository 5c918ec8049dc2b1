// Counts that come in several objects of one answer.
#include "llm/dialects/usage_counts.hpp"

#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <string>

using namespace agentcore;
using namespace agentcore::test;
using detail::llm::UsageCounts;

namespace {

Usage streamed(const detail::llm::WireFormat& format, const std::vector<std::string>& objects) {
  CallFixture fixture(true, 1 << 20, 1 << 20, format);
  std::string events;
  for (const std::string& json : objects) events += "data: " + json + "\n\n";
  const ChatRecord& heard = fixture.answer(200, all_events, events);
  REQUIRE(heard.completed());
  return heard.outcomes[0].usage;
}

Usage of_anthropic(const std::string& at_start, const std::string& at_end) {
  return streamed(detail::llm::anthropic_messages(),
                  {R"({"type":"message_start","message":{"id":"m","usage":)" + at_start + "}}",
                   R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":)" + at_end + "}",
                   R"({"type":"message_stop"})"});
}

Usage of_chat(const std::string& first, const std::string& second) {
  return streamed(detail::llm::openai_chat(),
                  {R"({"choices":[{"index":0,"delta":{"content":"x"}}],"usage":)" + first + "}",
                   R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":)" + second + "}"});
}

Usage of_responses(const std::string& first, const std::string& second) {
  return streamed(detail::llm::openai_responses(),
                  {R"({"type":"response.in_progress","response":{"usage":)" + first + "}}",
                   R"({"type":"response.completed","response":{"status":"completed","output":[],"usage":)" +
                       second + "}}"});
}

}  // namespace

TEST_CASE("a later count of Anthropic replaces the one before and also by 0", "[llm][anthropic][usage]") {
  CHECK(of_anthropic(R"({"input_tokens":100,"cache_read_input_tokens":55096,"output_tokens":1})",
                     R"({"input_tokens":181,"cache_read_input_tokens":0,"output_tokens":20})") ==
        Usage{181, 20, 201, 0, 0});
  CHECK(of_anthropic(R"({"input_tokens":9,"cache_creation_input_tokens":50,"output_tokens":1})",
                     R"({"cache_creation_input_tokens":0,"output_tokens":0})") == Usage{9, 0, 9});
}

TEST_CASE("counts of the prompt from several events are added up at the end", "[llm][anthropic][usage]") {
  CHECK(of_anthropic(R"({"input_tokens":3,"cache_creation_input_tokens":10,"cache_read_input_tokens":100})",
                     R"({"output_tokens":4})") == Usage{113, 4, 117, 100, 0, true, 10});
  CHECK(of_anthropic(R"({"input_tokens":3,"output_tokens":1})",
                     R"({"cache_read_input_tokens":100,"output_tokens":4})") == Usage{103, 4, 107, 100, 0});
}

TEST_CASE("a count that is null or missing is ignored", "[llm][usage]") {
  CHECK(of_anthropic(R"({"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":1})",
                     R"({"input_tokens":null,"cache_read_input_tokens":"0","output_tokens":-4})") ==
        Usage{103, 1, 104, 100, 0});
  CHECK(of_chat(R"({"prompt_tokens":3,"completion_tokens":1})", "null") == Usage{3, 1, 4});
}

TEST_CASE("a later count of the chat dialect replaces the one before and also by 0", "[llm][openai][usage]") {
  const std::string first = R"({"prompt_tokens":50,"completion_tokens":9,"total_tokens":59,)"
                            R"("prompt_tokens_details":{"cached_tokens":40},)"
                            R"("completion_tokens_details":{"reasoning_tokens":8}})";
  CHECK(of_chat(first, R"({"prompt_tokens":50,"completion_tokens":7,"total_tokens":57,)"
                       R"("prompt_tokens_details":{"cached_tokens":0},)"
                       R"("completion_tokens_details":{"reasoning_tokens":0}})") == Usage{50, 7, 57, 0, 0});
  CHECK(of_chat(first, R"({"completion_tokens":0})") == Usage{50, 0, 50, 40, 8});
  CHECK(of_chat(first, R"({"completion_tokens":12})") == Usage{50, 12, 62, 40, 8});  // the old total is void
}

TEST_CASE("the tokens that were written to a cache are part of the prompt", "[llm][openai][usage]") {
  CHECK(of_chat("null", R"({"prompt_tokens":50,"completion_tokens":9,)"
                        R"("prompt_tokens_details":{"cached_tokens":30,"cache_write_tokens":20}})") ==
        Usage{50, 9, 59, 30, 0, true, 20});
  CHECK(of_chat("null", R"({"prompt_tokens":50,"completion_tokens":9,"cache_creation_input_tokens":20})") ==
        Usage{50, 9, 59, 0, 0, true, 20});
  CHECK(of_responses("null", R"({"input_tokens":50,"output_tokens":9,)"
                             R"("input_tokens_details":{"cached_tokens":30,"cache_write_tokens":20}})") ==
        Usage{50, 9, 59, 30, 0, true, 20});
}

TEST_CASE("a later count of Responses replaces the one before", "[llm][responses][usage]") {
  const std::string first = R"({"input_tokens":50,"output_tokens":9,"total_tokens":59,)"
                            R"("input_tokens_details":{"cached_tokens":40}})";
  CHECK(of_responses(first,
                     R"({"input_tokens":50,"output_tokens":0,"input_tokens_details":{"cached_tokens":0}})") ==
        Usage{50, 0, 50, 0, 0});
}

TEST_CASE("Groq's x_groq usage is merged with the standard one", "[llm][openai][usage]") {
  CHECK(streamed(detail::llm::openai_chat(),
                 {R"({"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}],)"
                  R"("usage":{"prompt_tokens":5},"x_groq":{"usage":{"completion_tokens":2}}})"}) ==
        Usage{5, 2, 7});
}

TEST_CASE("a total alone counts as completion tokens", "[llm][usage]") {
  CHECK(UsageCounts{.prompt = 5, .completion = 1, .total = 9}.usage() == Usage{5, 4, 9});
  CHECK(UsageCounts{.prompt = 5, .completion = 1, .total = 2}.usage() == Usage{5, 1, 6});
  CHECK(UsageCounts{}.usage() == Usage{});
}
