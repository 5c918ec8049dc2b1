// Calls of a real server are recorded; their replay gives the same results.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/observe/recorder_lines.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <optional>

using namespace agentcore;
using namespace agentcore::test;

namespace {

struct RecordedFixture : LlmFixture {
  explicit RecordedFixture(SocketServer::Script script) : LlmFixture(std::move(script)) {
    HttpLlmOptions options = client_options();
    options.recorder = lines.recorder();
    llm = std::make_unique<HttpLlmClient>(*runtime, options);
  }
  // Asks again, of the recording.
  ChatRecord replayed(HttpReplay::Pace pace = HttpReplay::Pace::at_once) {
    testing::ManualClock clock;
    Runtime own({.clock = &clock});
    HttpLlmOptions options = client_options();
    options.replay = lines.replay(pace);
    HttpLlmClient client(own, options);
    ChatRecord record;
    client.chat(ask("a"), {}, record.sink());
    CHECK(own.run_until_idle());
    return record;
  }

  RecorderLines lines;
};

void check_same(const ChatRecord& replayed, const ChatRecord& heard) {
  REQUIRE(replayed.outcomes.size() == 1);
  REQUIRE(heard.outcomes.size() == 1);
  const ChatOutcome &a = replayed.outcomes[0], &b = heard.outcomes[0];
  CHECK(replayed.deltas == heard.deltas);
  CHECK(a.kind == b.kind);
  CHECK(a.finish_reason == b.finish_reason);
  CHECK(a.usage == b.usage);
  CHECK(a.error.code == b.error.code);
  CHECK(a.error.message == b.error.message);
  CHECK(a.error.http_status == b.error.http_status);
  CHECK(a.error.retryable == b.error.retryable);
}

}  // namespace

TEST_CASE("a recorded stream is replayed in the same pieces", "[llm][recording]") {
  RecordedFixture f([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    for (const char byte : delta_event("H\xC3\xBC") + delta_event("!") + finish_event + usage_event)
      peer.write({&byte, 1});
  });
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  REQUIRE(f.heard.completed());
  check_same(f.replayed(), f.heard);
  check_same(f.replayed(HttpReplay::Pace::as_recorded), f.heard);
  const HttpExchange exchange = f.lines.exchanges().at(0);
  CHECK(exchange.url == f.server.url() + "/chat/completions");
  CHECK(exchange.status == 200);
  CHECK(exchange.content_type == "text/event-stream");
  CHECK(f.lines.text.find(api_key) == std::string::npos);
}

TEST_CASE("recorded failures of every kind are replayed", "[llm][recording][X19]") {
  const auto answer = GENERATE(
      std::string(stream_head) + delta_event("half"),
      std::string("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"),
      std::string(stream_head) + "data: {]\n\n",
      http_answer("401 Unauthorized", "application/json", R"({"error":{"message":"bad key"}})"),
      http_answer("503 Later", "text/html", "<html>"), http_answer("200 OK", "application/json", "{}"),
      std::string("garbage\r\n\r\n"), std::string());
  RecordedFixture f([answer](Peer& peer) {
    peer.read_request();
    peer.write(answer);
  });
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.ended_as(ChatOutcome::Kind::failed));
  check_same(f.replayed(), f.heard);
}

TEST_CASE("a refused connection and a silent server are replayed", "[llm][recording]") {
  RecordedFixture f([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  HttpLlmOptions options = f.client_options();
  options.recorder = f.lines.recorder();
  Errc expected = Errc::first_byte_timeout;
  SECTION("silence") {
    options.first_byte_timeout = std::chrono::milliseconds(1);
  }
  SECTION("refusal") {
    const SocketServer gone([](Peer&) {});
    options.base_url = gone.url();
    expected = Errc::network_error;
  }
  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, options);
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.heard.failed_with(expected));
  check_same(f.replayed(), f.heard);
}

TEST_CASE("a stopped call is recorded as cancelled and replayed as cancelled", "[llm][recording][A9]") {
  RecordedFixture f([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write(delta_event("half"));
    peer.wait_close();
  });
  f.chat("a", f.heard, [&f] { f.stop.request_stop(); });
  REQUIRE(f.drive_to_end(f.heard));
  REQUIRE(f.heard.cancelled());
  CHECK(f.lines.exchanges().at(0).end == Errc::cancelled);
  check_same(f.replayed(), f.heard);
}

TEST_CASE("open calls are recorded when their client is destroyed", "[llm][recording]") {
  RecordedFixture f([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  f.chat("a", f.heard);
  f.chat("b", f.other);
  REQUIRE(f.drive_until([&f] { return f.server.requests() == 2; }));
  SECTION("its client") {
    f.llm.reset();
  }
  SECTION("its runtime") {
    f.runtime.reset();
  }
  // Each in a poll of its own if the machine is slow.
  if (f.runtime) CHECK(f.drive_until([&f] { return f.lines.exchanges().size() == 2; }));
  CHECK(f.heard.cancelled());
  CHECK(f.lines.exchanges().size() == 2);
}
