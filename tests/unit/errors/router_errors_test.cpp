// Errors of the router.
#include "llm/router/verdict.hpp"
#include "unit/errors/error_rows.hpp"
#include "unit/llm/router/router_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

// The error of one call, after `change` was applied to the options.
template <typename Change>
Error error_with(Change&& change, std::deque<testing::ScriptedReply> script = {}) {
  RouterFixture f;
  f.options.routes.resize(1);
  f.first.script = std::move(script);
  change(f.options);
  f.make();
  f.ask(f.heard);
  CHECK(f.idle());
  return f.heard.error();
}

void add_options(ErrorRows& rows) {
  const auto add = [&rows](std::string text, auto&& change) {
    rows.push_back({text, error_with(change), Errc::invalid_config, text});
  };
  add("RouterOptions::routes is empty; give it at least one Route with a client",
      [](RouterOptions& o) { o.routes.clear(); });
  add("RouterOptions::routes[0].client is null; every route needs a client",
      [](RouterOptions& o) { o.routes[0].client = {}; });
  add("RetryPolicy::max_attempts is 0; it must be at least 1",
      [](RouterOptions& o) { o.retry.max_attempts = 0; });
  add("RetryPolicy::first_delay is -1 s; it must not be negative",
      [](RouterOptions& o) { o.retry.first_delay = -1s; });
  add("RetryPolicy::max_delay is -1 s; it must not be negative",
      [](RouterOptions& o) { o.retry.max_delay = -1s; });
  add("RetryPolicy::max_retry_after is -1 s; it must not be negative",
      [](RouterOptions& o) { o.retry.max_retry_after = -1s; });
  add("RetryPolicy::timeout is -1 s; it must not be negative",
      [](RouterOptions& o) { o.retry.timeout = -1s; });
  add("BreakerPolicy::open_for is -1 s; it must not be negative",
      [](RouterOptions& o) { o.breaker.open_for = -1s; });
  Runtime other;
  add("RouterOptions::call_slots belongs to another Runtime; pass CallSlots of the router's Runtime",
      [&](RouterOptions& o) { o.call_slots = std::make_shared<CallSlots>(other); });
}

void add_attempts(ErrorRows& rows) {
  rows.push_back({"a retryable error in each attempt",
                  error_with([](RouterOptions&) {}, {fails(cut), fails(cut), fails(cut)}),
                  Errc::network_error, "cut (3 attempts)"});
  rows.push_back({"an error that is not retryable", error_with([](RouterOptions&) {}, {fails(bad_key)}),
                  Errc::api_error, "bad key"});
  rows.push_back(
      {"the endpoint asks for a long pause", error_with([](RouterOptions&) {}, {fails(busy(120s))}),
       Errc::api_error,
       "busy; the endpoint asks for a pause of 120.0 s, longer than RetryPolicy::max_retry_after (60.0 s) "
       "allows"});
  rows.push_back({"a time-out", error_with([](RouterOptions& o) { o.retry.timeout = 10s; }, {silence()}),
                  Errc::deadline_exceeded, "The call's deadline passed"});
  rows.push_back({"a time-out after a failed attempt",
                  error_with([](RouterOptions& o) { o.retry.timeout = 10s; }, {fails(cut), silence()}),
                  Errc::deadline_exceeded,
                  "The call's deadline passed; its last attempt had failed: cut (2 attempts)"});
}

Error error_on_two_routes() {
  RouterFixture f;
  f.first.script = {fails(unknown_model)};
  f.second.script = {fails(bad_key)};
  f.make();
  f.ask(f.heard);
  CHECK(f.idle());
  return f.heard.error();
}

Error error_of_second_call() {
  RouterFixture f;
  f.make_one();
  f.ask(f.other);
  f.ask(f.heard);
  const Error error = f.heard.error();
  CHECK(f.idle());
  return error;
}

Error error_of_full_queue() {
  RouterFixture f;
  f.options.limits = {.total = 1, .max_waiting = 2};
  f.make_one();
  ChatRecord running, waiting, last;
  f.ask(running, "a");
  f.ask(waiting, "b");
  f.ask(f.other, "c");
  f.ask(last, "d");
  const Error error = last.error();
  CHECK(f.idle());
  return error;
}

Error error_of_open_circuit(std::string endpoint) {
  RouterFixture f;
  f.options.breaker.failures = 1;
  f.options.retry.max_attempts = 1;
  f.options.routes[0].endpoint = std::move(endpoint);
  f.first.script = {fails(cut)};
  f.make_one();
  f.ask(f.other);
  CHECK(f.idle());
  f.ask(f.heard);
  CHECK(f.idle());
  return f.heard.error();
}

Error error_during_test_of_circuit() {
  RouterFixture f;
  f.options.breaker = {.failures = 1, .open_for = 1s};
  f.options.retry.max_attempts = 1;
  f.first.script = {fails(cut), silence()};
  f.make_one();
  f.ask(f.other);
  CHECK(f.idle());
  f.clock.advance(2s);
  ChatRecord test;
  f.ask(test, "b");
  f.polls();
  f.ask(f.heard, "c");
  f.polls();
  const Error error = f.heard.error();
  CHECK(f.router->abort("b"));
  CHECK(f.idle());
  return error;
}

}  // namespace

ErrorRows test::router_errors() {
  ErrorRows rows;
  add_options(rows);
  add_attempts(rows);
  rows.push_back({"errors on two routes", error_on_two_routes(), Errc::api_error,
                  "bad key (2 attempts; the last on route 2 of 2)"});
  rows.push_back({"a second call of an agent", error_of_second_call(), Errc::request_in_progress,
                  "this agent has a model call open in this router; abort it or wait for its end"});
  rows.push_back({"too many calls wait", error_of_full_queue(), Errc::queue_full,
                  "2 model calls wait for a slot already; make fewer calls at a time, or raise "
                  "CallLimits::max_waiting"});
  rows.push_back({"an open circuit", error_of_open_circuit("one"), Errc::circuit_open,
                  "The endpoint \"one\" failed too often: no call is sent to it for another 30.0 s "
                  "(BreakerPolicy::open_for)"});
  rows.push_back(
      {"an open circuit without a name", error_of_open_circuit(""), Errc::circuit_open,
       "The endpoint of RouterOptions::routes[0] failed too often: no call is sent to it for another 30.0 s "
       "(BreakerPolicy::open_for)"});
  rows.push_back(
      {"a circuit that is being tested", error_during_test_of_circuit(), Errc::circuit_open,
       "The endpoint \"one\" failed too often: one call at a time tests whether it works again, and "
       "that test is still running"});
  rows.push_back({"a pause of the endpoint", detail::llm::pause_too_long_error(61s), Errc::http_error,
                  "The endpoint asked for a pause that lasts another 61.0 s, which is longer than "
                  "RetryPolicy::max_retry_after"});
  rows.push_back(
      {"a pause beyond the deadline", detail::llm::pause_past_deadline_error(9s), Errc::deadline_exceeded,
       "The endpoint asked for a pause that lasts another 9.0 s, which the call's deadline does not "
       "allow"});
  return rows;
}

TEST_CASE("every error of the router has its text", "[errors][llm][router]") {
  check(router_errors());
}
