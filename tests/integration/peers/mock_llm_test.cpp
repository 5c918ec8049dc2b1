// Against mock-llm, which tells the errors of a stream under status 200, as its only event, without [DONE].
// scripts/check-peers starts it and runs these.
#include "integration/peers/peer_talk.hpp"
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>

using namespace agentcore;
using test::Talk;

namespace {

HttpLlmOptions mock_llm() {
  return test::peer_options("AGENTCORE_MOCK_LLM_URL");
}

}  // namespace

TEST_CASE("mock-llm: an answer is streamed and put together", "[.mock-llm][integration]") {
  Talk talk(mock_llm());
  const TurnEnded& end = talk.ask("hello");
  CHECK(end.outcome == TurnOutcome::completed);
  CHECK(end.finish_reason == FinishReason::complete);
  CHECK(talk.answer == "Nobody here wrote this server, either.");
  CHECK(talk.deltas > 1);
}

TEST_CASE("mock-llm: an error under a good status is an error, and may pass or not",
          "[.mock-llm][integration][X19]") {
  Talk talk(mock_llm());
  const TurnEnded overloaded = talk.ask("overloaded");
  CHECK(overloaded.outcome == TurnOutcome::failed);
  CHECK(overloaded.error.code == Errc::api_error);
  CHECK(overloaded.error.http_status == 200);
  CHECK(overloaded.error.message.starts_with("The model is overloaded. (the error inside the answer came"));
  CHECK(overloaded.error.retryable);
  CHECK(talk.text.empty());
  const TurnEnded refused = talk.ask("a key");
  CHECK(refused.error.code == Errc::api_error);
  CHECK(refused.error.message.starts_with("Incorrect API key provided. (the error inside the answer came"));
  CHECK_FALSE(refused.error.retryable);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}
