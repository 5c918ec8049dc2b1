// A cut in every phase that a transfer can be in (G5, G6): one end, a closed connection, nothing left.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/wire/full_listener.hpp"
#include "support/wire/gzip.hpp"
#include "support/wire/hanging_resolver.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Drives until `reached`, cuts, and checks what must hold after a cut in whatever phase.
void cut_when(Runtime& runtime, SocketServer* server, detail::net::HttpRequest request,
              const std::function<bool(const Call&)>& reached) {
  detail::net::Transport::of(*detail::loop::engine_of(runtime));
  runtime.poll_descriptor();
  const std::size_t before = open_descriptors();
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, server, [&] { return reached(call); }));
  const std::size_t told = call.heard->body.size();

  CHECK(call.handle->cut());
  CHECK_FALSE(call.handle->cut());
  if (server != nullptr) REQUIRE(server->wait([&] { return server->closed() >= 1; }));  // no poll in between
  REQUIRE(call.heard->ends == 0);
  runtime.poll();
  CHECK(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK(call.heard->body.size() == told);
  CHECK(call.heard->destroyed);
  CHECK(open_transfers(runtime) == 0);

  REQUIRE(runtime.run_until_idle());
  CHECK(call.heard->ends == 1);
  CHECK(call.heard->after_end == 0);
  // The server's end of the connection lives in this process as well, until the server goes.
  const std::size_t servers = server != nullptr ? static_cast<std::size_t>(server->accepted()) : 0;
  CHECK(open_descriptors() == before + servers);
}

}  // namespace

TEST_CASE("a cut before the start ends the transfer without a connection", "[net][G5]") {
  SocketServer server([](Peer& peer) { peer.wait_close(); });
  Runtime runtime;
  Call call{detail::net::CallHandle::make(*detail::loop::engine_of(runtime))};
  call.handle->cut();
  detail::net::Transport::of(*detail::loop::engine_of(runtime))
      ->start(request_to(server.url()), call.handle, std::make_unique<RecordingHandler>(call.heard));
  CHECK(call.heard->ends == 0);
  runtime.poll();
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK(runtime.run_until_idle());
  CHECK(server.accepted() == 0);
}

TEST_CASE("a cut right after the start ends the transfer without a connection", "[net][G5]") {
  SocketServer server([](Peer& peer) { peer.wait_close(); });
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  call.handle->cut();
  runtime.poll();
  CHECK(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK(runtime.run_until_idle());
  CHECK(server.accepted() == 0);
}

TEST_CASE("a cut during name resolution does not wait for the resolver", "[net][G5]") {
  HangingResolver resolver;
  Runtime runtime;
  // The look-up's thread keeps its end of a socket pair; what is ours must be closed.
  const Call call = start(runtime, request_to("http://hangs.test/"));
  runtime.poll();
  resolver.wait_for(1);
  call.handle->cut();
  runtime.poll();
  CHECK(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK(open_transfers(runtime) == 0);
  CHECK(runtime.run_until_idle());  // the handle is removed while the look-up still hangs
}

TEST_CASE("a Runtime is destroyed at once during name resolution", "[net][G5]") {
  HangingResolver resolver;
  std::shared_ptr<Heard> heard;
  {
    Runtime runtime;
    heard = start(runtime, request_to("http://hangs.test/")).heard;
    runtime.poll();
    resolver.wait_for(1);
  }
  CHECK(heard->destroyed);
  CHECK(heard->ends == 0);
}

TEST_CASE("a cut while connecting closes the socket", "[net][G5][G6]") {
  const FullListener listener;
  Runtime runtime;
  cut_when(runtime, nullptr, request_to(listener.url()),
           [&](const Call&) { return listener.knocking() > 0; });
  CHECK(listener.knocking() == 0);
}

TEST_CASE("a cut while connecting takes effect before the next poll", "[net][G5][G6]") {
  const FullListener listener;
  Runtime runtime;
  const Call call = start(runtime, request_to(listener.url()));
  REQUIRE(drive(runtime, nullptr, [&] { return listener.knocking() > 0; }));
  call.handle->cut();
  CHECK(listener.knocking() == 0);
}

TEST_CASE("a cut during the TLS handshake closes the connection", "[net][G5][G6]") {
  SocketServer server([](Peer& peer) { peer.wait_close(); });
  Runtime runtime;
  cut_when(runtime, &server, request_to(server.url("https")),
           [&](const Call&) { return server.accepted() == 1; });
}

TEST_CASE("a cut before the response head closes the connection", "[net][G5][G6]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  Runtime runtime;
  cut_when(runtime, &server, request_to(server.url()), [&](const Call&) { return server.requests() == 1; });
}

TEST_CASE("a cut while the request is sent closes the connection", "[net][G5][G6]") {
  constexpr std::size_t whole = 32 << 20;  // more than the kernel takes
  SocketServer server(read_a_piece);
  Runtime runtime;
  auto request = request_to(server.url());
  request.body.assign(whole, 'x');
  // The server reads the rest of what was sent by then, and nothing is sent any more.
  cut_when(runtime, &server, std::move(request), [&](const Call&) {
    if (server.received() == 0) return false;
    server.step();
    return true;
  });
  CHECK(server.received() > 0);
  CHECK(server.received() < whole);
  CHECK(server.requests() == 0);
  CHECK(server.accepted() == 1);
}

TEST_CASE("a cut after the response head closes the connection", "[net][G5][G6]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.wait_close();
  });
  Runtime runtime;
  cut_when(runtime, &server, request_to(server.url()),
           [&](const Call& call) { return call.heard->heads == 1; });
}

TEST_CASE("a cut in the middle of a stream closes the connection", "[net][G5][G6]") {
  SocketServer server(stream_once);
  Runtime runtime;
  cut_when(runtime, &server, request_to(server.url()),
           [&](const Call& call) { return !call.heard->body.empty(); });
}

TEST_CASE("a cut drops bytes that have arrived and were not read", "[net][G5][G7]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    while (peer.write("data: a drip without an end\n\n")) {
    }
    peer.wait_close();
  });
  Runtime runtime;
  cut_when(runtime, &server, request_to(server.url()),
           [&](const Call& call) { return call.heard->body.size() > 100; });
}

TEST_CASE("a cut in the middle of a redirect closes the connection", "[net][G5][G6][A9]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 307 Go\r\nLocation: /next\r\nContent-Length: 9\r\n\r\nhalf");
    peer.wait_close();
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.max_redirects = 3;
  int polls = 0;
  cut_when(runtime, &server, std::move(request),
           [&](const Call&) { return server.requests() == 1 && ++polls > 3; });
  CHECK(server.accepted() == 1);
  CHECK(server.requests() == 1);
}

TEST_CASE("a cut after a redirect closes the connection", "[net][G5][G6]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write("HTTP/1.1 307 Go\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n");
    peer.read_request();
    peer.wait_close();
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.max_redirects = 3;
  cut_when(runtime, &server, std::move(request), [&](const Call&) { return server.requests() == 2; });
}

TEST_CASE("a cut in the middle of a compressed body closes the connection", "[net][G5][G6][G7]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    const Bomb bomb = gzip_bomb();
    peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + bomb.head);
    for (int i = 0; i < 100; ++i) peer.write(bomb.repeat);
    peer.wait_close();
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.compressed = true;
  cut_when(runtime, &server, std::move(request), [&](const Call& call) { return !call.heard->body.empty(); });
}

TEST_CASE("a cut in a callback ends a compressed body at once", "[net][G7]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    const Bomb bomb = gzip_bomb();
    std::string body = bomb.head;
    for (int i = 0; i < 100; ++i) body += bomb.repeat;
    peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + body);
    peer.wait_close();
  });
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  int calls = 0;
  call.heard->on_body = [&](std::string_view) { return ++calls, call.handle->cut(); };
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(calls == 1);
  CHECK(call.heard->end.code == Errc::cancelled);
}

TEST_CASE("a cut after the end does nothing", "[net]") {
  SocketServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(answer("hello"));
  });
  Runtime runtime;
  for (int i = 0; i < 5; ++i) {
    const Call call = start(runtime, request_to(server.url()));
    REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
    CHECK(call.handle->cut());
    CHECK(runtime.run_until_idle());
    CHECK(call.heard->ends == 1);
    CHECK(call.heard->end.code == Errc::none);
  }
  // The connection was kept for the next transfer every time: the guard had let it go.
  CHECK(server.accepted() == 1);
}
