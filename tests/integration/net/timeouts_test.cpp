// The three timeouts, on a clock that only the test moves.
#include "net_fixture.hpp"
#include "support/catch.hpp"

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct Timed {
  ManualClock clock;
  Runtime runtime{{.clock = &clock}};

  net::HttpRequest request(std::string url) const {
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

TEST_CASE("the first byte has a timeout, which a head alone does not meet", "[net][G5]") {
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

TEST_CASE("a stream has a timeout for each silence", "[net][G5]") {
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
