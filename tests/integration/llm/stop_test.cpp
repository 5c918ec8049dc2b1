// Stopping a call in each phase, as the server sees it.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/sanitized.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/http_llm_client.hpp>
#include <agentcore/testing/references.hpp>

#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void never_answer(Peer& peer) {
  if (!peer.read_request().empty()) peer.wait_close();
}

// One delta, then silence.
void one_delta(Peer& peer) {
  if (peer.read_request().empty()) return;
  peer.write(stream_head);
  peer.write(usage_event + delta_event("x"));
  peer.wait_close();
}

}  // namespace

TEST_CASE("a stopped token makes no connection", "[openai][A7]") {
  LlmFixture f(never_answer);
  f.stop.request_stop();
  f.chat("a", f.heard);
  CHECK(f.heard.cancelled());
  CHECK_FALSE(f.llm->has_active_request("a"));
  CHECK(f.runtime->run_until_idle());
  CHECK(f.server.accepted() == 0);
}

TEST_CASE("a stop before the first poll makes no connection", "[openai][A7][A2]") {
  LlmFixture f(never_answer);
  f.chat("a", f.heard);
  CHECK(f.llm->abort("a"));
  CHECK_FALSE(f.llm->has_active_request("a"));
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.cancelled());
  CHECK(f.server.requests() == 0);
}

TEST_CASE("a stop closes the connection while the server is silent", "[openai][G5][G6]") {
  LlmFixture f(never_answer);
  f.chat("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.server.requests() == 1; }));
  f.stop.request_stop();
  // The loop does not run: the stopping thread itself cut the wire.
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  CHECK_FALSE(f.llm->has_active_request("a"));
  CHECK_FALSE(f.heard.ended());
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.cancelled());
  CHECK(f.llm->open_calls() == 0);
}

TEST_CASE("a stop in a stream closes the connection and nothing follows", "[openai][G6][G7]") {
  LlmFixture f(one_delta);
  f.chat("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.heard.text() == "x"; }));
  std::jthread([&] { CHECK(f.llm->abort("a")); }).join();
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.cancelled());
  CHECK(f.heard.text() == "x");
  CHECK(f.heard.outcomes[0].usage == Usage{1, 2, 3, 0, 0, false});
  CHECK_FALSE(f.llm->abort("a"));
}

TEST_CASE("a stop from within a delta over HTTP ends the call", "[openai][Q3][G7]") {
  LlmFixture f([](Peer& peer) {
    peer.read_request();
    peer.write(std::string(stream_head) + delta_event("x") + delta_event("y") + delta_event("z"));
    peer.wait_close();
  });
  f.chat("a", f.heard, [&f] { f.stop.request_stop(); });
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.text() == "x");
  CHECK(f.heard.cancelled());
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
}

TEST_CASE("a call over HTTP may be aborted and repeated and aborted again in one tick", "[openai][X11]") {
  LlmFixture f(never_answer);
  f.chat("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.server.requests() == 1; }));
  CHECK(f.llm->abort("a"));
  f.chat("a", f.other);
  CHECK(f.llm->has_active_request("a"));
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.llm->has_active_request("a"));
  CHECK(f.llm->abort("a"));
  CHECK_FALSE(f.llm->has_active_request("a"));
  REQUIRE(f.drive_to_end(f.other));
  CHECK(f.heard.cancelled());
  CHECK(f.other.cancelled());
}

TEST_CASE("destroying the client cancels its calls from within", "[openai]") {
  LlmFixture f(never_answer);
  f.chat("a", f.heard);
  f.chat("b", f.other);
  REQUIRE(f.drive_until([&] { return f.server.requests() == 2; }));
  f.llm.reset();
  CHECK(f.heard.cancelled());
  CHECK(f.other.cancelled());
  CHECK(f.server.wait([&] { return f.server.closed() == 2; }));
  CHECK(f.runtime->run_until_idle());
}

TEST_CASE("a receiver may destroy the client during a stream", "[openai][Q3]") {
  LlmFixture f(one_delta);
  f.chat("a", f.heard, [&f] { f.llm.reset(); });
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.cancelled());
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  CHECK(f.runtime->run_until_idle());
}

TEST_CASE("a receiver may destroy the client and the Runtime during a stream", "[openai][Q3]") {
  LlmFixture f(one_delta);
  f.chat("a", f.heard, [&f] {
    f.llm.reset();
    f.runtime.reset();
  });
  while (f.runtime && !f.heard.ended()) f.runtime->run_for(std::chrono::milliseconds(10));
  CHECK(f.heard.cancelled());
  CHECK(f.heard.text() == "x");
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
}

TEST_CASE("the destruction of the Runtime cancels open calls", "[openai][Q3]") {
  LlmFixture f(never_answer);
  f.chat("a", f.heard);
  REQUIRE(f.drive_until([&] { return f.server.requests() == 1; }));
  f.runtime.reset();
  CHECK(f.heard.cancelled());
  CHECK_FALSE(f.llm->has_active_request("a"));
  CHECK(f.server.wait([&] { return f.server.closed() == 1; }));
  f.chat("a", f.other);
  CHECK(f.other.cancelled());
  f.llm.reset();
}

TEST_CASE("an exception of a receiver ends its transfer", "[openai][G16]") {
  LlmFixture f(one_delta);
  f.chat("a", f.heard, [] { throw 1; });
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.failed_with(Errc::callback_failed));
  REQUIRE(f.drive_until([&] { return f.server.closed() == 1; }));
  CHECK_FALSE(f.llm->has_active_request("a"));
}

TEST_CASE("a stop on another thread may race with the end of an answer", "[openai][C13][G10]") {
  LlmFixture f([](Peer& peer) {
    while (!peer.read_request().empty())
      peer.write(http_answer("200 OK", "text/event-stream", delta_event("x") + finish_event + done_event));
  });
  for (int round = 0; round < 300; ++round) {
    ChatRecord record;
    StopSource stop;
    f.llm->chat(ask("a"), stop.get_token(), record.sink());
    std::jthread stopper;
    const auto race = [&] { stopper = std::jthread([&] { stop.request_stop(); }); };
    if (round % 2 == 0) race();
    const int begun = f.server.requests();
    REQUIRE(f.drive_until([&] {
      if (round % 2 == 1 && f.server.requests() > begun && !stopper.joinable()) race();
      return record.ended();
    }));
    CHECK(record.outcomes.size() == 1);
    CHECK_FALSE(record.ended_as(ChatOutcome::Kind::failed));
    CHECK_FALSE(f.llm->has_active_request("a"));
  }
}

TEST_CASE("agents deleted during streams leave no descriptor and no registration", "[openai][G6][G13]") {
#ifdef SANITIZED
  constexpr int cycles = 300;
#else
  constexpr int cycles = 700;
#endif
  LlmFixture f(one_delta);
  AgentTree tree(*f.runtime, {.llm = f.llm.get()});
  int streaming = 0;
  const auto deltas =
      tree.on_event([&](const Event& event) { streaming += event.get<DeltaReceived>() != nullptr; });
  const auto cycle = [&](int number) {
    const Agent agent = tree.create({.id = "agent"}).value();
    CHECK(agent.send("go"));
    REQUIRE(f.drive_until([&] { return streaming == number; }));
    if (number % 2) CHECK(agent.stop().took_effect());
    CHECK(agent.terminate().took_effect());
    REQUIRE(f.drive_until([&] { return !tree.busy() && f.server.closed() == number; }));
  };
  cycle(1);
  const std::size_t before = open_descriptors();
  for (int number = 2; number <= cycles; ++number) cycle(number);
  CHECK(open_descriptors() == before + cycles - 1);  // the server keeps its own ends
  CHECK(open_transfers(*f.runtime) == 0);
  CHECK(f.llm->open_calls() == 0);
  CHECK(testing::count_references(tree, "agent") == 0);
}
