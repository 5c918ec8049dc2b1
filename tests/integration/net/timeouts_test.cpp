// The timeouts: on a clock that only the test moves, and short ones on the system's.
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/wire/full_listener.hpp"
#include "support/wire/hanging_resolver.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <curl/curl.h>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct Timed {
  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock}};

  detail::net::HttpRequest request(std::string url) const {
    auto wanted = request_to(std::move(url));
    wanted.connect_timeout = 10s;
    wanted.first_byte_timeout = 60s;
    wanted.stall_timeout = 30s;
    return wanted;
  }
  void pass(Duration time) {
    clock.advance(time);
    while (runtime.poll()) {
    }
  }
};

// Answers with a stream of which each piece, one byte long, waits for SocketServer::step().
void drip(Peer& peer) {
  peer.read_request();
  peer.write(stream_head);
  while (peer.write("x") && peer.wait_step()) {
  }
  peer.wait_close();
}

// A drip finds out by its second piece after the end.
bool sees_close(SocketServer& server) {
  for (int i = 0; i < 3; ++i) server.step();
  return server.wait([&] { return server.closed() == 1; });
}

}  // namespace

TEST_CASE("connecting has a timeout that includes TLS", "[net][G5][X21]") {
  SocketServer server([](Peer& peer) { peer.wait_close(); });
  Timed timed;
  const Call call = start(timed.runtime, timed.request(server.url("https")));
  REQUIRE(drive(timed.runtime, &server, [&] { return server.accepted() == 1; }));
  timed.pass(10s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::connect_timeout);
  CHECK(server.wait([&] { return server.closed() == 1; }));
  CHECK(open_transfers(timed.runtime) == 0);
}

TEST_CASE("name resolution is part of connecting and has its time-out", "[net][G5][X21]") {
  HangingResolver resolver;
  Timed timed;
  const Call call = start(timed.runtime, timed.request("http://hangs.test/"));
  timed.runtime.poll();
  resolver.wait_for(1);
  timed.pass(10s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::connect_timeout);
  CHECK(call.heard->end.message.find("hangs.test:80") != std::string::npos);
  CHECK_FALSE(call.heard->end.request_sent);
  CHECK(open_transfers(timed.runtime) == 0);
  CHECK(timed.runtime.run_until_idle());  // while the look-up still hangs
}

TEST_CASE("an unanswered connection attempt ends by the connect time-out", "[net][G5][X21]") {
  const FullListener listener;
  Timed timed;
  const Call call = start(timed.runtime, timed.request(listener.url()));
  REQUIRE(drive(timed.runtime, nullptr, [&] { return listener.knocking() > 0; }));
  timed.pass(10s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::connect_timeout);
  CHECK_FALSE(call.heard->end.request_sent);
  CHECK(listener.knocking() == 0);
  CHECK(open_transfers(timed.runtime) == 0);
}

// libcurl 7.88 looks at an unanswered connection again 200 ms after it began; 8.22 does so only
// if there is another address. Otherwise it has the timer of its own limit alone: 2^31 - 1 ms, the longest.
TEST_CASE("a timer of libcurl has the length that libcurl asks for", "[net][G5]") {
  const FullListener listener;
  Timed timed;
  auto request = timed.request(listener.url());
  request.connect_timeout = 1000h;
  const Call call = start(timed.runtime, std::move(request));
  REQUIRE(drive(timed.runtime, nullptr, [&] { return listener.knocking() > 0; }));
  REQUIRE(timed.runtime.next_deadline());
  const Duration wait = *timed.runtime.next_deadline() - timed.clock.now();
  constexpr Duration longest = std::chrono::milliseconds(0x7fffffff);
  CHECK(wait > 1ms);
  const bool is_limit = wait > longest - 1min && wait <= longest;
  const bool may_be_limit = curl_version_info(CURLVERSION_NOW)->version_num >= 0x080000;
  CHECK((wait <= 200ms || (may_be_limit && is_limit)));
  call.handle->cut();
  REQUIRE(drive(timed.runtime, nullptr, [&] { return call.heard->ends == 1; }));
}

TEST_CASE("an unread request ends by the first-byte time-out", "[net][G5]") {
  constexpr std::size_t whole = 32 << 20;  // more than the kernel takes
  SocketServer server(read_a_piece);
  Timed timed;
  auto request = timed.request(server.url());
  request.body.assign(whole, 'x');
  const Call call = start(timed.runtime, std::move(request));
  REQUIRE(drive(timed.runtime, &server, [&] { return server.received() > 0; }));
  timed.pass(60s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::first_byte_timeout);
  CHECK(call.heard->end.request_sent);
  CHECK(call.heard->end.status == 0);
  server.step();
  CHECK(server.wait([&] { return server.closed() == 1; }));
  CHECK(server.received() < whole);
  CHECK(open_transfers(timed.runtime) == 0);
}

TEST_CASE("the first-byte time-out ends only with the first byte of the body", "[net][G5]") {
  const bool head = GENERATE(false, true);
  SocketServer server([head](Peer& peer) {
    peer.read_request();
    if (head) peer.write(stream_head);
    peer.wait_close();
  });
  Timed timed;
  const Call call = start(timed.runtime, timed.request(server.url()));
  REQUIRE(drive(timed.runtime, &server,
                [&] { return server.requests() == 1 && call.heard->heads == (head ? 1 : 0); }));
  timed.pass(60s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::first_byte_timeout);
  CHECK(call.heard->end.status == (head ? 200 : 0));
  CHECK(server.wait([&] { return server.closed() == 1; }));
}

TEST_CASE("a stream has a time-out for each silence", "[net][G5]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write("data: 1\n\n");
    if (peer.wait_step()) peer.write("data: 2\n\n");
    peer.wait_close();
  });
  Timed timed;
  const Call call = start(timed.runtime, timed.request(server.url()));
  REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->body.size() == 9; }));
  timed.pass(29s);
  server.step();
  REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->body.size() == 18; }));
  timed.pass(30s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::stall_timeout);
  CHECK(call.heard->body.size() == 18);
  CHECK(server.wait([&] { return server.closed() == 1; }));
}

TEST_CASE("a finished transfer leaves no timer behind", "[net][G13]") {
  SocketServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(answer("hello"));
  });
  Timed timed;
  const Call call = start(timed.runtime, timed.request(server.url()));
  REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->ends == 1; }));
  timed.pass(0s);
  CHECK(timed.runtime.next_deadline() == std::nullopt);
}

TEST_CASE("an endless slow stream ends by the total time-out", "[net][G5][G15][X21]") {
  SocketServer server(drip);
  Timed timed;
  auto request = timed.request(server.url());
  request.total_timeout = 100s;
  const Call call = start(timed.runtime, std::move(request));
  std::size_t told = 0;
  while (call.heard->ends == 0) {
    REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->body.size() > told; }));
    told = call.heard->body.size();
    timed.pass(20s);
    server.step();
  }
  CHECK(call.heard->end.code == Errc::total_timeout);
  CHECK(call.heard->body.size() == 5);
  CHECK(sees_close(server));
  CHECK(open_transfers(timed.runtime) == 0);
  timed.pass(0s);
  CHECK(timed.runtime.next_deadline() == std::nullopt);
}

TEST_CASE("what has come is read before a time-out although the loop is late", "[net][late][G5]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    if (peer.wait_step()) peer.write("data: all\n\n");
  });
  Timed timed;
  auto request = timed.request(server.url());
  request.total_timeout = 100s;
  const Call call = start(timed.runtime, std::move(request));
  REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->heads == 1; }));
  // The rest of the answer comes while another handler takes all the time that the poll has for descriptors,
  // but not that for timers.
  const loop_test::Pipe pipe;
  detail::loop::Engine& engine = *detail::loop::engine_of(timed.runtime);
  loop_test::Handler busy([&](int descriptor, detail::loop::IoEvents) {
    engine.unwatch(descriptor);
    server.step();
    REQUIRE(server.wait([&] { return server.served() == 1; }));
    timed.clock.advance(12ms);
  });
  REQUIRE_FALSE(engine.watch(pipe.read_end(), detail::loop::IoEvents::readable, busy));
  REQUIRE(pipe.write());
  timed.clock.advance(200s);
  timed.runtime.poll(16ms);
  CHECK(busy.calls == 1);
  timed.pass(0s);
  CHECK(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->body == "data: all\n\n");
}

TEST_CASE("the deadline of the caller ends a transfer with its own error", "[net][G5][G15][X21]") {
  SocketServer server(drip);
  Timed timed;
  auto request = timed.request(server.url());
  timed.pass(5s);
  request.deadline = timed.clock.now() + 25s;
  request.total_timeout = 25s;
  const Call call = start(timed.runtime, std::move(request));
  REQUIRE(drive(timed.runtime, &server, [&] { return call.heard->body.size() == 1; }));
  timed.pass(25s - 1ns);
  CHECK(call.heard->ends == 0);
  timed.pass(1ns);
  CHECK(call.heard->end.code == Errc::deadline_exceeded);
  CHECK(sees_close(server));
}

TEST_CASE("a passed deadline makes no connection", "[net][G15]") {
  SocketServer server(drip);
  Timed timed;
  auto request = timed.request(server.url());
  request.deadline = timed.clock.now();
  const Call call = start(timed.runtime, std::move(request));
  CHECK(call.heard->ends == 0);
  timed.pass(0s);
  CHECK(call.heard->end.code == Errc::deadline_exceeded);
  CHECK(server.accepted() == 0);
}

TEST_CASE("each phase ends with its own error in real time", "[net][G5][X21]") {
  const auto expect = [](SocketServer& server, detail::net::HttpRequest request, Errc code) {
    Runtime runtime;
    const Call call = start(runtime, std::move(request));
    call.heard->on_body = [&](std::string_view) { return server.step(), true; };
    REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
    CHECK(to_string(call.heard->end.code) == to_string(code));
    CHECK(call.heard->end.message.find("127.0.0.1:" + std::to_string(server.port())) != std::string::npos);
    CHECK(sees_close(server));
  };
  SocketServer silent([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  SocketServer stalling([](Peer& peer) {
    peer.read_request();
    peer.write(std::string(stream_head) + "x");
    peer.wait_close();
  });
  SocketServer dripping(drip);
  SECTION("connecting") {
    auto request = request_to(silent.url("https"));
    request.connect_timeout = 20ms;
    expect(silent, std::move(request), Errc::connect_timeout);
  }
  SECTION("the first byte") {
    auto request = request_to(silent.url());
    request.first_byte_timeout = 20ms;
    expect(silent, std::move(request), Errc::first_byte_timeout);
  }
  SECTION("a silence") {
    auto request = request_to(stalling.url());
    request.stall_timeout = 20ms;
    expect(stalling, std::move(request), Errc::stall_timeout);
  }
  SECTION("the whole") {
    auto request = request_to(dripping.url());
    request.total_timeout = 50ms;
    expect(dripping, std::move(request), Errc::total_timeout);
  }
  SECTION("the caller's deadline") {
    auto request = request_to(dripping.url());
    request.deadline = std::chrono::steady_clock::now() + 50ms;
    expect(dripping, std::move(request), Errc::deadline_exceeded);
  }
}
