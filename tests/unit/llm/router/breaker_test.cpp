// The circuit of an endpoint.
#include "llm/router/breaker.hpp"

#include "support/catch.hpp"

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;
using Change = Breaker::Change;

namespace {

struct Fixture {
  Breaker breaker{{.failures = 3, .open_for = 30s}};
  TimePoint now{};

  Change end(Health health) { return breaker.settle(*breaker.admit(now), health, now); }
  void open() {
    end(Health::ill);
    end(Health::ill);
    REQUIRE(end(Health::ill) == Change::opened);
  }
};

Health failed(Errc code, int status = 0, bool retryable = true) {
  return health_of(
      ChatOutcome::failed({.code = code, .message = "x", .http_status = status, .retryable = retryable}));
}

}  // namespace

TEST_CASE_METHOD(Fixture, "the configured number of failures in a row opens the circuit",
                 "[llm][router][breaker]") {
  CHECK(end(Health::ill) == Change::none);
  CHECK(end(Health::ill) == Change::none);
  CHECK(breaker.admits(now));
  CHECK(end(Health::ill) == Change::opened);
  CHECK_FALSE(breaker.admits(now));
  CHECK_FALSE(breaker.admit(now));
  CHECK(breaker.open_for(now) == 30s);
}

TEST_CASE_METHOD(Fixture, "a success resets the count of failures and an unknown outcome does not",
                 "[llm][router][breaker]") {
  for (int i = 0; i < 10; ++i) {
    CHECK(end(Health::ill) == Change::none);
    CHECK(end(Health::ill) == Change::none);
    CHECK(end(Health::well) == Change::none);
  }
  end(Health::ill);
  end(Health::unknown);
  end(Health::ill);
  CHECK(end(Health::ill) == Change::opened);
}

TEST_CASE_METHOD(Fixture, "a half-open circuit admits one attempt at a time", "[llm][router][breaker]") {
  open();
  now += 30s - 1ns;
  CHECK_FALSE(breaker.admit(now));
  now += 1ns;
  CHECK(breaker.open_for(now) == 0s);
  const auto probe = breaker.admit(now);
  REQUIRE(probe);
  CHECK_FALSE(breaker.admit(now));
  CHECK_FALSE(breaker.admits(now));
  CHECK(breaker.settle(*probe, Health::well, now) == Change::closed);
  CHECK(breaker.admit(now));
  CHECK(breaker.admit(now));
}

TEST_CASE_METHOD(Fixture, "a failed probe opens the circuit again for the whole time",
                 "[llm][router][breaker]") {
  open();
  now += 40s;
  CHECK(end(Health::ill) == Change::opened);
  CHECK(breaker.open_for(now) == 30s);
  now += 30s;
  CHECK(end(Health::well) == Change::closed);
}

TEST_CASE_METHOD(Fixture, "a stopped probe frees the half-open circuit", "[llm][router][breaker][A9]") {
  open();
  now += 30s;
  CHECK(end(Health::unknown) == Change::none);
  CHECK(breaker.admits(now));
  CHECK(end(Health::well) == Change::closed);
}

TEST_CASE_METHOD(Fixture, "attempts from before a change of the circuit are ignored",
                 "[llm][router][breaker]") {
  const auto old = breaker.admit(now);
  const auto older = breaker.admit(now);
  open();
  CHECK(breaker.settle(*old, Health::well, now) == Change::none);
  CHECK_FALSE(breaker.admits(now));
  now += 30s;
  const auto probe = breaker.admit(now);
  CHECK(breaker.settle(*older, Health::ill, now) == Change::none);
  CHECK_FALSE(breaker.admits(now));  // the probe is still on its way
  CHECK(breaker.settle(*probe, Health::well, now) == Change::closed);
}

TEST_CASE_METHOD(Fixture, "failures of before the circuit opened do not count, whatever it is when they come",
                 "[llm][router][breaker]") {
  Breaker::Permit old[9];
  for (Breaker::Permit& permit : old) permit = *breaker.admit(now);
  auto fail_old = [&, next = 0](int times) mutable {
    for (int i = 0; i < times; ++i) CHECK(breaker.settle(old[next++], Health::ill, now) == Change::none);
  };
  open();
  now += 10s;
  fail_old(3);
  CHECK(breaker.open_for(now) == 20s);  // not opened again
  now += 20s;
  fail_old(3);
  CHECK(breaker.admits(now));  // half open
  CHECK(end(Health::well) == Change::closed);
  fail_old(3);
  CHECK(breaker.admits(now));
  CHECK(end(Health::ill) == Change::none);
  CHECK(end(Health::ill) == Change::none);
  CHECK(end(Health::ill) == Change::opened);
}

TEST_CASE("with 0 failures a circuit never opens", "[llm][router][breaker]") {
  Breaker breaker({.failures = no_limit});
  for (int i = 0; i < 100; ++i) CHECK(breaker.settle(*breaker.admit({}), Health::ill, {}) == Change::none);
}

TEST_CASE("only failures of the endpoint count for its circuit", "[llm][router][breaker][X19]") {
  for (const Errc code : {Errc::connect_timeout, Errc::first_byte_timeout, Errc::stall_timeout,
                          Errc::total_timeout, Errc::resolve_failed, Errc::network_error})
    CHECK(failed(code) == Health::ill);
  for (const int status : {500, 502, 503, 529}) CHECK(failed(Errc::http_error, status) == Health::ill);
  CHECK(failed(Errc::api_error, 200, true) == Health::ill);  // "overloaded", inside a stream
  for (const int status : {200, 402, 429})
    CHECK(failed(Errc::account_exhausted, status, false) == Health::well);

  for (const int status : {400, 401, 404, 408, 429}) CHECK(failed(Errc::api_error, status) == Health::well);
  CHECK(health_of(ChatOutcome::completed(FinishReason::complete)) == Health::well);

  CHECK(health_of(ChatOutcome::cancelled()) == Health::unknown);
  for (const Errc code : {Errc::tls_error, Errc::deadline_exceeded, Errc::invalid_response,
                          Errc::callback_failed, Errc::client_dropped_call, Errc::queue_full})
    CHECK(failed(code) == Health::unknown);
}
