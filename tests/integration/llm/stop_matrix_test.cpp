// A stop, an interrupt and a steer in every phase that an agent's model call can be in, from the tree down to
// the wire: one matrix.
#include "integration/llm/stop_phases.hpp"
#include "support/catch.hpp"
#include "support/clients/forwarding_client.hpp"
#include "support/drive/tree_fixture.hpp"
#include "support/wire/full_listener.hpp"
#include "support/wire/hanging_resolver.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Connections and requests that the route under test got, and attempts after the first.
struct Counts {
  int accepted, requests, retries;
  bool operator==(const Counts&) const = default;
};

// The clock does not advance: nothing here ends by a time-out. Agent "a" asks the route under test, behind
// which there is a second one that would answer. "holder" and "next" ask another server, by a router with the
// same slots.
struct Matrix {
  explicit Matrix(Phase which) : phase(which) {
    seen.watch(tree);
    events = tree.on_event([this](const Event& event) {
      if (const auto* delta = event.get<DeltaReceived>(); delta != nullptr && delta->agent.id() == "a")
        text += delta->text;
      if (const auto* ended = event.get<TurnEnded>(); ended != nullptr && ended->agent.id() == "a")
        end = *ended;
    });
  }
  ~Matrix() { CHECK(seen.violations == std::vector<std::string>{}); }

  template <typename Obstacle>
  std::unique_ptr<Obstacle> only_in(Phase its) const {
    return phase == its ? std::make_unique<Obstacle>() : nullptr;
  }
  std::string base_url() const {
    if (resolver) return "http://hangs.test/v1";
    if (listener) return listener->url();
    return server.url(phase == Phase::tls ? "https" : "http");
  }
  static HttpLlmOptions options(std::string url) {
    return {.base_url = std::move(url), .model = "m", .proxy = "none"};
  }
  RouterOptions routing() {
    RouterOptions routing;
    routing.routes = {{.client = &first}, {.client = &second}};
    routing.retry.max_attempts = 3;
    routing.retry.backoff = [](std::uint32_t, const ChatError&) { return std::chrono::hours(1); };
    routing.call_slots = slots;
    routing.on_retry = [this](const RetryNotice&) { ++retries; };
    return routing;
  }

  Agent ask(std::string id, LlmClient& llm, std::string question) {
    const Agent asked = tree.create({.id = std::move(id), .llm = &llm}).value();
    REQUIRE(asked.send(std::move(question)).accepted());
    return asked;
  }
  bool drive_until(const std::function<bool()>& done) { return drive(runtime, &server, done); }

  bool reached() {
    switch (phase) {
      case Phase::resolving:
        return first.open_calls() == 1;
      case Phase::connecting:
        return listener->knocking() > 0;
      case Phase::tls:
      case Phase::upload:
        return server.received() > 0;
      case Phase::silence:
        return server.requests() == 1;
      case Phase::stream:
        return text == "x";
      case Phase::drip:
        return drips();
      case Phase::back_off:
        return retries == 1;
      default:
        return slots->waiting() == 1;
    }
  }
  // Each piece that was heard lets the next one go.
  bool drips() {
    for (; heard < text.size(); ++heard) server.step();
    return heard == 3;
  }
  void reach() {
    if (phase == Phase::queue) {
      ask("holder", others, "hold");
      REQUIRE(drive_until([this] { return elsewhere.requests() == 1; }));
    }
    agent = ask("a", observed_router, phase == Phase::upload ? std::string(long_question, 'x') : "hello");
    REQUIRE(drive_until([this] { return reached(); }));
    if (!resolver) return;
    runtime.poll();
    resolver->wait_for(1);
  }
  // "next" waits for the slot of the call; in a back-off, which holds no slot, it is answered at once.
  void line_up() {
    CHECK(slots->running() == (phase == Phase::back_off ? 0 : 1));
    ask("next", others, "hello");
    const std::size_t line = phase == Phase::queue ? 2 : 1;
    REQUIRE(drive_until([&] {
      return phase == Phase::back_off ? seen.count("ended next 1 completed") == 1 : slots->waiting() == line;
    }));
  }

  // The stopping thread itself cut the wire. Servers that wait for a step go on, and see it.
  void check_wire() {
    for (int i = 0; i < 3; ++i) server.step();
    CHECK(server.accepted() == (has_connection() || phase == Phase::back_off ? 1 : 0));
    if (has_connection()) CHECK(server.wait([this] { return server.closed() == server.accepted(); }));
    if (listener) CHECK(listener->knocking() == 0);
    if (phase == Phase::upload) CHECK(server.received() < long_question);
  }
  void check_ended(TurnOutcome as, AgentState state) {
    CHECK(seen.with("ended a") == std::vector<std::string>{"ended a 1 " + std::string(to_string(as))});
    CHECK(end.result->outcome == as);
    CHECK(agent.state().value() == state);
    CHECK(first.open_calls() == 0);
    REQUIRE(outcomes.size() == 1);
    const ChatOutcome& outcome = outcomes[0];
    CHECK(outcome.kind == ChatOutcome::Kind::cancelled);
    // What was never sent has used nothing, and that is certain. So is it of what was refused.
    CHECK(outcome.usage.complete == !is_sent());
    CHECK((outcome.usage.total_tokens > 0) == is_sent());
    // The turn was over before its call had told that: it tells what its tree estimates.
    CHECK_FALSE(end.result->usage.complete);
  }
  void check_nothing_left() {
    CHECK(slots->running() == 0);
    CHECK(slots->waiting() == 0);
    CHECK(router.open_calls() == 0);
    CHECK(open_transfers(runtime) == 0);
    CHECK(runtime.next_deadline() == std::nullopt);
    CHECK(spare.accepted() == 0);
    CHECK(elsewhere.requests() == (phase == Phase::queue ? 2 : 1));
  }
  Counts counts() const { return {server.accepted(), server.requests(), retries}; }

  // What the phase says about the rest.
  bool is_sent() const {
    return phase == Phase::upload || phase == Phase::silence || phase == Phase::stream ||
           phase == Phase::drip;
  }
  bool has_connection() const { return is_sent() || phase == Phase::tls; }

  const Phase phase;
  const std::unique_ptr<HangingResolver> resolver = only_in<HangingResolver>(Phase::resolving);
  const std::unique_ptr<FullListener> listener = only_in<FullListener>(Phase::connecting);
  SocketServer server{[this](Peer& peer) { serve(phase, peer); }};
  SocketServer spare{answer_every_request};
  SocketServer elsewhere{serve_others};
  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock}};
  HttpLlmClient first{runtime, options(base_url())};
  HttpLlmClient second{runtime, options(spare.url())};
  HttpLlmClient third{runtime, options(elsewhere.url())};
  std::shared_ptr<CallSlots> slots =
      std::make_shared<CallSlots>(runtime, CallLimits{.total = 1, .per_agent = 1});
  LlmRouter router{runtime, routing()};
  std::vector<ChatOutcome> outcomes;  // of the calls that pass through `observed_router`
  ForwardingClient observed_router{router, [this](const ChatRequest&, const StopToken&, ChatSink& sink) {
                                     const auto to = std::make_shared<ChatSink>(std::move(sink));
                                     sink = ChatSink([to](std::string_view delta) { to->delta(delta); },
                                                     [this, to](ChatOutcome outcome) {
                                                       outcomes.push_back(outcome);
                                                       to->finish(std::move(outcome));
                                                     });
                                   }};
  LlmRouter others{runtime, {.routes = {{.client = &third}}, .call_slots = slots}};
  AgentTree tree{runtime, {.max_message_bytes = long_question}};
  Recorder seen;
  Agent agent;
  int retries = 0;
  std::size_t heard = 0;  // pieces of a drip
  std::string text;       // the deltas of "a"
  TurnEnded end;          // of "a"
  Subscription events;
};

Phase any_phase() {
  return GENERATE(Phase::resolving, Phase::connecting, Phase::tls, Phase::upload, Phase::silence,
                  Phase::stream, Phase::drip, Phase::back_off, Phase::queue);
}

}  // namespace

TEST_CASE("a stop or an interrupt in every phase of a model call ends it and nothing is retried",
          "[llm][router][turn][A7][A9][G5][G6][G7][X34][Y5]") {
  const Phase phase = any_phase();
  const bool stops = GENERATE(true, false);
  INFO(name_of(phase) << (stops ? ", stop" : ", interrupt"));
  Matrix f(phase);
  f.reach();
  f.line_up();
  const Counts before = f.counts();
  const std::string text = f.text;

  std::jthread([&] { CHECK((stops ? f.agent.stop() : f.agent.interrupt()).took_effect()); }).join();
  f.check_wire();
  CHECK(f.seen.count("ended a") == 0);  // the loop has not run

  REQUIRE(f.drive_until([&] { return f.seen.count(stops ? "settled a" : "ended a") == 1; }));
  f.check_ended(stops ? TurnOutcome::stopped : TurnOutcome::interrupted,
                stops ? AgentState::stopped : AgentState::idle);
  CHECK(f.text == text);

  f.elsewhere.step();  // the holder's answer
  REQUIRE(f.drive_until([&] { return !f.tree.busy(); }));
  CHECK(f.seen.count("ended next 1 completed") == 1);
  REQUIRE(f.runtime.run_until_idle());
  f.check_nothing_left();
  CHECK(f.counts() == before);
  // The answer before a back-off was a whole one: its connection is idle by then, and is kept.
  CHECK(f.server.closed() == (phase == Phase::back_off ? 0 : f.server.accepted()));
}

TEST_CASE("a steer in every phase of a model call closes its connection, and the model is asked again",
          "[llm][router][turn][steer][G5][Y6]") {
  const Phase phase = any_phase();
  INFO(name_of(phase));
  Matrix f(phase);
  f.reach();
  const std::string text = f.text;
  std::jthread([&] { CHECK(f.agent.steer("Shorter.", {.when = SteerWhen::now}).ended_call); }).join();
  f.check_wire();
  CHECK(f.text == text);
  REQUIRE(f.drive_until([&] { return f.seen.count("steered a delivered 2") == 1; }));
  CHECK(f.seen.count("cut a 1") == 1);
  // After a back-off the second call is answered, possibly in the same poll.
  if (phase != Phase::back_off) CHECK(f.seen.count("ended a") == 0);
  REQUIRE(f.drive_until([&] { return !f.outcomes.empty(); }));
  CHECK(f.outcomes[0].kind == ChatOutcome::Kind::cancelled);
  if (phase == Phase::back_off) {
    REQUIRE(f.drive_until([&] { return f.seen.count("ended a 1 completed") == 1; }));
    CHECK(f.server.closed() == 0);
  }
  CHECK(f.agent.terminate().took_effect());
  REQUIRE(f.drive_until([&] { return f.tree.find("a").has_value() == false; }));
}

TEST_CASE("a stop in a back-off keeps the idle connection usable", "[llm][router][turn][A9][G5]") {
  Matrix f(Phase::back_off);
  f.reach();
  std::jthread([&] { CHECK(f.agent.stop().took_effect()); }).join();
  REQUIRE(f.drive_until([&] { return !f.tree.busy(); }));
  CHECK(f.agent.resume().took_effect());
  REQUIRE(f.agent.send("Once more?").accepted());
  REQUIRE(f.drive_until([&] { return !f.tree.busy(); }));
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.server.requests() == 2);
  CHECK(f.server.accepted() == 1);
  CHECK(f.server.closed() == 0);
}
