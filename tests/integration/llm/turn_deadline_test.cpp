// The deadline of a turn over HTTP, as the server sees it.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/observe/strict_history.hpp"

#include <chrono>
#include <string>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* sum = "/call add {\"a\":1,\"b\":2}";

// A tree whose model is a scripted server, on a clock that the test moves.
struct Quiet {
  explicit Quiet(SocketServer::Script script) : server(std::move(script)) {
    seen.watch(tree);
    ends = tree.on<TurnEnded>([this](const TurnEnded& ended) { end = ended; });
  }
  ~Quiet() { CHECK(seen.violations == std::vector<std::string>{}); }
  bool drive_until(const std::function<bool()>& done) { return drive(runtime, &server, done); }

  SocketServer server;
  TestClock clock;
  Runtime runtime{{.clock = &clock, .seed = 1}};
  HttpLlmClient llm{runtime, {.base_url = server.url(), .api_key = api_key, .model = "m", .proxy = "none"}};
  AgentTree tree{runtime, {.llm = &llm}};
  Recorder seen;
  TurnEnded end;
  Subscription ends;
};

}  // namespace

TEST_CASE("at its deadline a turn closes the connection of a server that never answers",
          "[openai][turn][deadline][X53][G5][G6]") {
  const bool begins = GENERATE(false, true);  // to answer
  Quiet f([begins](Peer& peer) {
    peer.read_request();
    if (begins) peer.write(std::string(stream_head) + delta_event("hel"));
    peer.wait_close();
  });
  const Agent agent = f.tree.create({.id = "a", .limits = {.turn_timeout = 10s}}).value();
  REQUIRE(agent.send("question"));
  REQUIRE(f.drive_until([&] { return f.server.requests() == 1 && (!begins || f.seen.count("delta") == 1); }));
  f.clock.advance(9999ms);
  for (int i = 0; i < 10; ++i) f.runtime.poll();
  CHECK(f.seen.count("ended") == 0);
  CHECK(f.server.closed() == 0);
  f.clock.advance(1ms);
  REQUIRE(f.drive_until([&] { return !f.tree.busy(); }));
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  REQUIRE(f.end.result);
  CHECK(f.end.result->outcome == TurnOutcome::failed);
  CHECK(f.end.result->error.code == Errc::deadline_exceeded);
  CHECK(f.end.result->text.empty());
  CHECK_FALSE(f.end.result->usage.complete);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK_FALSE(f.llm.has_active_request("a"));
  CHECK(open_transfers(f.runtime) == 0);
  CHECK(written(agent.conversation().value()) == "user:question!failed");
  CHECK(f.seen.count("discarded") == 0);

  // The next message begins with a connection of its own.
  REQUIRE(agent.send("again", {.deadline = f.clock.now() + 5s}));
  REQUIRE(f.drive_until([&] { return f.server.requests() == 2; }));
  f.clock.advance(5s);
  REQUIRE(f.drive_until([&] { return !f.tree.busy(); }));
  CHECK(f.server.wait([&] { return f.server.closed() == 2; }));
  CHECK(f.end.result->error.code == Errc::deadline_exceeded);
  CHECK(f.seen.count("ended a 2 failed") == 1);
}

TEST_CASE("a deadline in an endless answer after tools leaves a valid history",
          "[openai][turn][tools][deadline][X53][G6][G8]") {
  TurnFixture f(0);
  const Agent agent = f.ask(sum, {.limits = {.turn_timeout = 300ms}});
  REQUIRE(f.drive_to_end());
  REQUIRE(f.server_saw([](const standin::Stats& stats) { return stats.open == 0; }));
  REQUIRE(f.end.result);
  CHECK(f.end.result->outcome == TurnOutcome::failed);
  CHECK(f.end.result->error.code == Errc::deadline_exceeded);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(refusal(agent.conversation().value()).empty());
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(f.seen.count("ended a 1 failed") == 1);
}
