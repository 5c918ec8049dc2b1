// Stops against a router, on real threads: attempts, back-offs, the queue for a slot, and the router's end.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/clients/forwarding_client.hpp"
#include "support/drive/team.hpp"

#include <agentcore/llm_router.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace agentcore;
using namespace std::chrono_literals;
using agentcore::test::FakeClient;
using agentcore::test::ForwardingClient;
using agentcore::test::Team;

namespace {

const int rounds = agentcore::test::amount(3000, 300);

// What the stops of a round meet. Most are races, and no scheduler promises how those end; so that both ends
// are seen for certain, in some rounds the loop does nothing before all are stopped, and in some the calls
// have their ends before anybody stops them.
enum class Order { race, stops_first, ends_first };
constexpr Order order_in(int round) {
  if (round % 10 == 8) return Order::stops_first;
  return round % 10 == 9 ? Order::ends_first : Order::race;
}
const ChatError cut{.code = Errc::network_error, .message = "cut", .retryable = true};

// What one call heard, and whether anything came that must not.
struct Ear {
  ChatSink sink() {
    return ChatSink([this](std::string_view) { late += outcomes > 0; },
                    [this](const ChatOutcome& outcome) {
                      ++outcomes;
                      kind = outcome.kind;
                    });
  }
  int outcomes = 0;
  int late = 0;
  ChatOutcome::Kind kind = ChatOutcome::Kind::completed;
};

ChatRequest ask(int agent) {
  ChatRequest request;
  request.agent_id = "agent " + std::to_string(agent);
  request.messages.push_back(ChatMessage::user("x"));
  return request;
}

// Fails every attempt. Counts those that begin after their call was stopped, with a token that was not
// triggered. (A stop may come while an attempt begins; then it has cut that attempt.)
struct FailingModel {
  explicit FailingModel(Runtime& runtime)
      : scripted(runtime, [](const ChatRequest&) {
          testing::ScriptedReply reply;
          reply.error = cut;
          return reply;
        }) {}

  testing::ScriptedClient scripted;
  std::array<std::atomic<bool>, 4> stopped{};
  int after_stop = 0;
  ForwardingClient client{scripted, [this](const ChatRequest& request, const StopToken& stop, ChatSink&) {
                            const bool over =
                                stopped[static_cast<std::size_t>(request.agent_id.back() - '0')];
                            after_stop += over && !stop.stop_requested();
                          }};
};

RouterOptions options_for(LlmClient& client) {
  RouterOptions options;
  options.routes = {{.client = &client}, {.client = &client}};
  options.retry.backoff = [](std::uint32_t, const ChatError&) { return Duration(0); };
  options.breaker.failures = no_limit;
  options.limits = {.total = 2, .per_agent = 1};
  return options;
}

}  // namespace

TEST_CASE("no attempt follows a stop that races with attempts and back-offs and the queue",
          "[stop][race][router][A9][G5][G7][G10][Y5]") {
  constexpr int calls = 4;
  Runtime runtime;
  FailingModel model(runtime);
  LlmRouter router(runtime, options_for(model.client));
  Team team(calls);
  std::atomic<int> still_there{0};
  int cancelled = 0, failed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::array<Ear, calls> ears;
    std::array<StopSource, calls> stops;
    for (auto& each : model.stopped) each = false;
    for (int i = 0; i < calls; ++i) {
      const auto n = static_cast<std::size_t>(i);
      router.chat(ask(i), stops[n].get_token(), ears[n].sink());
    }
    const Order order = order_in(round / 2);  // with each way to stop
    for (int i = 0; i < round % 5 && order == Order::race; ++i) runtime.poll();
    if (order == Order::ends_first) REQUIRE(runtime.run_until_idle());
    team.run(
        [&](int member) {
          const auto n = static_cast<std::size_t>(member);
          const std::string agent = "agent " + std::to_string(member);
          const bool mine = (round + member) % 2 ? stops[n].request_stop() : router.abort(agent);
          if (mine) model.stopped[n] = true;
          still_there += router.has_active_request(agent);
        },
        [&] {
          for (int i = 0; i < 3 && order != Order::stops_first; ++i) runtime.poll();
        });
    REQUIRE(runtime.run_until_idle());
    for (std::size_t n = 0; n < calls; ++n) {
      REQUIRE(ears[n].outcomes == 1);
      REQUIRE(ears[n].late == 0);
      const bool was_cancelled = ears[n].kind == ChatOutcome::Kind::cancelled;
      if (order != Order::race) REQUIRE(was_cancelled == (order == Order::stops_first));
      ++(was_cancelled ? cancelled : failed);
      REQUIRE_FALSE(router.has_active_request("agent " + std::to_string(n)));
    }
    REQUIRE(router.open_calls() == 0);
    REQUIRE(router.call_slots().running() == 0);
    REQUIRE(router.call_slots().waiting() == 0);
  }
  INFO(cancelled << " were cancelled, " << failed << " had failed before");
  CHECK(model.after_stop == 0);
  CHECK(still_there == 0);
  CHECK(cancelled >= rounds * calls / 10);
  CHECK(failed >= rounds * calls / 10);
}

TEST_CASE("an agent that was stopped on another thread may call again at once and both calls stay separate",
          "[stop][race][router][X11][A3][A6]") {
  FakeClient model;
  Runtime runtime;
  LlmRouter router(runtime, options_for(model));
  Team team(2);
  for (int round = 0; round < rounds; ++round) {
    Ear old, fresh;
    router.chat(ask(0), {}, old.sink());
    REQUIRE(model.open_calls().size() == 1);
    std::atomic<int> aborted{0};
    team.run([&](int) { aborted += router.abort("agent 0"); },
             [&] {
               runtime.poll();
               model.cancel_stopped();
             });
    REQUIRE(aborted == 1);
    REQUIRE_FALSE(router.has_active_request("agent 0"));
    router.chat(ask(0), {}, fresh.sink());
    runtime.poll();
    model.cancel_stopped();
    runtime.poll();
    REQUIRE(old.outcomes == 1);
    REQUIRE(old.kind == ChatOutcome::Kind::cancelled);
    REQUIRE(fresh.outcomes == 0);
    REQUIRE(router.has_active_request("agent 0"));
    REQUIRE(model.open_calls().size() == 1);
    model.answer_all();
    model.forget_ended();
    REQUIRE(fresh.outcomes == 1);
    REQUIRE(fresh.kind == ChatOutcome::Kind::completed);
    REQUIRE(router.call_slots().running() == 0);
  }
}

TEST_CASE("in a race of a stop and an outcome the call has one outcome and its slot is free",
          "[stop][race][router][G7][G10][C13]") {
  FakeClient model;
  Runtime runtime;
  LlmRouter router(runtime, options_for(model));
  Team team(2);
  int cancelled = 0;
  for (int round = 0; round < rounds; ++round) {
    Ear ear;
    StopSource stop;
    const Order order = order_in(round / 2);  // with each kind of end
    const auto answer = [&] {
      for (FakeClient::Call* const call : model.open_calls()) {
        call->sink.delta("word");
        round % 2 ? FakeClient::complete(*call) : FakeClient::finish(*call, ChatOutcome::failed(cut));
      }
      runtime.poll();
    };
    router.chat(ask(0), stop.get_token(), ear.sink());
    if (order == Order::ends_first) answer();
    team.run(
        [&](int member) {
          if (member == 0) stop.request_stop();
          if (member == 1) router.abort("agent 0");
        },
        [&] {
          if (order == Order::race) answer();
        });
    for (int i = 0; i < 5; ++i) {
      runtime.poll();
      model.cancel_stopped();
    }
    REQUIRE(ear.outcomes == 1);
    REQUIRE(ear.late == 0);
    const bool was_cancelled = ear.kind == ChatOutcome::Kind::cancelled;
    if (order != Order::race) REQUIRE(was_cancelled == (order == Order::stops_first));
    cancelled += was_cancelled;
    REQUIRE(model.open_calls().empty());
    model.forget_ended();
    REQUIRE(router.open_calls() == 0);
    REQUIRE(router.call_slots().running() == 0);
  }
  INFO(cancelled << " of " << rounds << " were cancelled");
  CHECK(cancelled >= rounds / 10);
  CHECK(cancelled <= rounds - rounds / 10);
}

TEST_CASE("stop tokens may be triggered while their router is destroyed", "[stop][race][router][G4][Q3]") {
  FakeClient model;
  Runtime runtime;
  Team team(3);
  for (int round = 0; round < rounds; ++round) {
    auto router = std::make_unique<LlmRouter>(runtime, options_for(model));
    std::array<Ear, 3> ears;
    std::array<StopSource, 3> stops;
    for (std::size_t n = 0; n < 3; ++n)  // two attempts, and one in the queue
      router->chat(ask(static_cast<int>(n)), stops[n].get_token(), ears[n].sink());
    team.run([&](int member) { stops[static_cast<std::size_t>(member)].request_stop(); },
             [&] {
               if (round % 2) runtime.poll();
               router.reset();
             });
    for (const Ear& ear : ears) {
      REQUIRE(ear.outcomes == 1);
      REQUIRE(ear.kind == ChatOutcome::Kind::cancelled);
    }
    model.cancel_stopped();
    runtime.poll();
    REQUIRE(model.open_calls().empty());
    model.forget_ended();
  }
}
