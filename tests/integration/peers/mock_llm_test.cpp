// Against mock-llm, which sends the errors of a stream with status 200, as its only event, without [DONE].
// scripts/check-peers starts it and runs these.
#include "integration/peers/peer_talk.hpp"
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

using namespace agentcore;
using test::Talk;

namespace {

HttpLlmOptions mock_llm() {
  return test::peer_options("AGENTCORE_MOCK_LLM_URL");
}

}  // namespace

TEST_CASE("mock-llm: an answer is streamed and assembled", "[.mock-llm][integration]") {
  Talk talk(mock_llm());
  const TurnEnded& end = talk.ask("hello");
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(end.result->finish_reason == FinishReason::complete);
  CHECK(talk.answer == "Nobody here wrote this server, either.");
  CHECK(talk.deltas > 1);
}

TEST_CASE("mock-llm: an error with a success status is an error", "[.mock-llm][integration][X19]") {
  Talk talk(mock_llm());
  const TurnEnded overloaded = talk.ask("overloaded");
  CHECK(overloaded.result->outcome == TurnOutcome::failed);
  CHECK(overloaded.result->error.code == Errc::api_error);
  CHECK(overloaded.result->error.http_status == 200);
  CHECK(overloaded.result->error.message.starts_with(
      "The model is overloaded. (the error inside the answer came"));
  CHECK(overloaded.result->error.retryable);
  CHECK(talk.text.empty());
  const TurnEnded refused = talk.ask("a key");
  CHECK(refused.result->error.code == Errc::api_error);
  CHECK(refused.result->error.message.starts_with(
      "Incorrect API key provided. (the error inside the answer came"));
  CHECK_FALSE(refused.result->error.retryable);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}
