// Against aimock: the faults that it can make, and their errors.
#include "integration/peers/peer_talk.hpp"
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace std::chrono_literals;
using test::aimock;
using test::Talk;

namespace {

// A turn that failed so; its history says that it did.
void check_failed(const Talk& talk, Errc code, bool retryable) {
  CHECK(talk.end.result->outcome == TurnOutcome::failed);
  CHECK(talk.end.result->error.code == code);
  CHECK(talk.end.result->error.retryable == retryable);
  CHECK_FALSE(talk.end.result->error.message.empty());
  CHECK(talk.llm.open_calls() == 0);
  const auto history = talk.agent.conversation().value();
  REQUIRE(history.size() == 1);
  CHECK(history.front().interruption == Interruption::failed);
  CHECK(is_valid_history(history));
}

}  // namespace

TEST_CASE("aimock: a rate limit has its time to wait", "[.aimock][integration][X19]") {
  Talk talk(aimock());
  talk.ask("wait");
  check_failed(talk, Errc::api_error, true);
  CHECK(talk.end.result->error.http_status == 429);
  CHECK(talk.end.result->error.message.starts_with("HTTP 429 from http://"));
  CHECK(
      talk.end.result->error.message.ends_with(", and asks for a pause of 7 s: not so fast (make fewer calls "
                                               "at a time (CallLimits), or try again later)"));
  CHECK(talk.end.result->error.retry_after == 7s);
}

TEST_CASE("aimock: a refused key is not retryable", "[.aimock][integration][X19]") {
  Talk talk(aimock());
  talk.ask("let me in");
  check_failed(talk, Errc::api_error, false);
  CHECK(talk.end.result->error.http_status == 401);
  CHECK(
      talk.end.result->error.message.ends_with(": Incorrect API key provided (check the key: "
                                               "HttpLlmOptions::api_key, api_key_env or api_key_source)"));
  CHECK_FALSE(talk.end.result->error.model_specific);
}

TEST_CASE("aimock: a server that fails once answers the next call", "[.aimock][integration][X19]") {
  Talk talk(aimock());
  talk.ask("once more");
  check_failed(talk, Errc::api_error, true);
  CHECK(talk.end.result->error.http_status == 500);
  CHECK(talk.ask("once more").result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "Here I am again.");
}

TEST_CASE("aimock: a router retries a server that fails once", "[.aimock][integration][X19]") {
  Talk talk(aimock());
  RouterOptions options{.routes = {{.client = &talk.llm}}};
  options.retry.first_delay = 1ms;
  std::vector<int> failures;
  options.on_retry = [&](const RetryNotice& notice) { failures.push_back(notice.error.http_status); };
  LlmRouter router(talk.runtime, std::move(options));
  CHECK(talk.ask("through a router", {.llm = &router}).result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "The second time.");
  CHECK(failures == std::vector<int>{500});
  CHECK(is_valid_history(talk.agent.conversation().value()));
  CHECK(talk.agent.terminate().took_effect());
  talk.ask("let me in", {.llm = &router});
  check_failed(talk, Errc::api_error, false);
  CHECK(failures.size() == 1);  // a 401 is the end
  CHECK(talk.agent.terminate().took_effect());
  REQUIRE(talk.runtime.run_until_idle());  // the router has to outlive its agents
}

TEST_CASE("aimock: each kind of chaos gives its error", "[.aimock][integration][X19]") {
  struct Chaos {
    const char* header;
    Errc code;
    bool retryable;
    int status;
  };
  for (const Chaos& chaos : {Chaos{"x-aimock-chaos-drop: 1", Errc::api_error, true, 500},
                             Chaos{"x-aimock-chaos-ratelimit: 1", Errc::api_error, true, 429},
                             Chaos{"x-aimock-chaos-malformed: 1", Errc::invalid_response, true, 200},
                             Chaos{"x-aimock-chaos-disconnect: 1", Errc::network_error, true, 0}}) {
    INFO(chaos.header);
    Talk talk(aimock({chaos.header}));
    talk.ask("hello");
    check_failed(talk, chaos.code, chaos.retryable);
    CHECK(talk.end.result->error.http_status == chaos.status);
    CHECK(talk.text.empty());
  }
}

TEST_CASE("aimock: a server may disconnect in a stream", "[.aimock][integration][G8]") {
  Talk talk(aimock());
  talk.ask("vanish");
  check_failed(talk, Errc::network_error, true);
  CHECK_FALSE(talk.text.empty());
  CHECK(
      std::string("This answer ends when the server goes away, in the middle of it.").starts_with(talk.text));
}

TEST_CASE("aimock: a late answer succeeds without a short time-out", "[.aimock][integration]") {
  Talk patient(aimock({"x-aimock-chaos-latency: 300"}));
  CHECK(patient.ask("hello").result->outcome == TurnOutcome::completed);
  HttpLlmOptions options = aimock({"x-aimock-chaos-latency: 10000"});
  options.first_byte_timeout = 100ms;
  Talk impatient(std::move(options));
  impatient.ask("hello");
  check_failed(impatient, Errc::first_byte_timeout, true);
}

TEST_CASE("aimock: a slow stream succeeds without a short time-out", "[.aimock][integration]") {
  Talk patient(aimock());
  CHECK(patient.ask("slowly").result->outcome == TurnOutcome::completed);
  CHECK(patient.answer == "One thing after the other, and all of it.");
  CHECK(patient.deltas > 4);
  HttpLlmOptions options = aimock();
  options.first_byte_timeout = 10s;
  options.stall_timeout = 200ms;
  Talk impatient(std::move(options));
  impatient.ask("think long");
  check_failed(impatient, Errc::stall_timeout, true);
}

TEST_CASE("aimock: an answer cut by a content filter has its finish reason", "[.aimock][integration]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("filtered");
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(end.result->finish_reason == FinishReason::content_filter);
  CHECK(talk.answer == "I may not");
}

TEST_CASE("aimock: usage comes at the end of a stream", "[.aimock][integration]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("counted");
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "Counted.");
  CHECK(end.result->usage == Usage{11, 5, 16});
}
