// A system that refuses to watch a transfer's socket.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/drive/refused_watches.hpp"

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a transfer whose socket cannot be watched ends with an error and the next one succeeds",
          "[net][G5]") {
  SocketServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(answer("hello"));
  });
  Runtime runtime;
  RefusedWatches refused(runtime);
  refused.on();
  const Call call = start(runtime, request_to(server.url()));
  for (int i = 0; i < 100 && call.heard->ends == 0; ++i) runtime.poll();
  refused.off();
  REQUIRE(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::network_error);
  CHECK(call.heard->end.message.find("the system refuses to watch the socket to") != std::string::npos);
  CHECK(open_transfers(runtime) == 0);
  const Call next = start(runtime, request_to(server.url()));
  REQUIRE(drive(runtime, &server, [&] { return next.heard->ends == 1; }));
  CHECK(next.heard->end.code == Errc::none);
  CHECK(next.heard->body == "hello");
}
