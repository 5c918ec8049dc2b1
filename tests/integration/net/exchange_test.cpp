// What a transfer delivers, and how it ends without a stop.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

bool ended(const Call& call) {
  return call.heard->ends > 0;
}

void answer_all(Peer& peer) {
  while (!peer.read_request().empty()) peer.write(answer("hello"));
}

}  // namespace

TEST_CASE("TCP keep-alive notices a vanished server", "[net][O5]") {
  SocketServer server(stream_once);
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  REQUIRE(drive(runtime, &server, [&] { return !call.heard->body.empty(); }));
  int on = 0, idle = 0;
  socklen_t size = sizeof(int);
  const int descriptor = call.handle->sockets().claimed()[0];
  REQUIRE(::getsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, &size) == 0);
  REQUIRE(::getsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &idle, &size) == 0);
  CHECK(on != 0);
  CHECK(idle == 60);
}

TEST_CASE("a transfer delivers head and body and one end", "[net][O5]") {
  std::string seen;
  SocketServer server([&seen](Peer& peer) {
    seen = peer.read_request();
    peer.write("HTTP/1.1 103 Early Hints\r\nContent-Type: x/y\r\n\r\n");
    peer.write(answer("hello"));
  });
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  CHECK(call.heard->ends == 0);
  CHECK(open_transfers(runtime) == 1);
  REQUIRE(drive(runtime, &server, [&] { return ended(call); }));
  CHECK(call.heard->heads == 1);
  CHECK(call.heard->status == 200);
  CHECK(call.heard->content_type == "text/plain");
  CHECK(call.heard->body == "hello");
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->end.status == 200);
  CHECK(call.heard->destroyed);
  CHECK(open_transfers(runtime) == 0);
  CHECK(seen.find("POST /v1/x HTTP/1.1\r\n") == 0);
  CHECK(seen.find("\r\nAccept-Encoding: identity\r\n") != std::string::npos);
  CHECK(seen.find("Expect") == std::string::npos);
  CHECK(seen.ends_with("{\"hello\":\"world\"}"));
  CHECK(runtime.run_until_idle());
}

TEST_CASE("connections are kept and reused", "[net]") {
  SocketServer server(answer_all);
  Runtime runtime;
  for (int i = 0; i < 20; ++i) {
    const Call call = start(runtime, request_to(server.url()));
    REQUIRE(drive(runtime, &server, [&] { return ended(call); }));
    REQUIRE(call.heard->end.code == Errc::none);
  }
  CHECK(server.requests() == 20);
  CHECK(server.accepted() == 1);
}

TEST_CASE("a large request and a large answer arrive whole", "[net]") {
  const std::string large(700000, 'x');
  std::size_t received = 0;
  SocketServer server([&](Peer& peer) {
    received = peer.read_request().size();
    peer.write(answer(large));
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.body = large;
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return ended(call); }));
  CHECK(call.heard->body == large);
  CHECK(received > large.size());
}

TEST_CASE("an answer that begins before the end of the request is delivered", "[net]") {
  std::size_t received = 0;
  SocketServer server([&](Peer& peer) {
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n");
    peer.write(std::string(200000, 'a'));
    received = peer.read_request().size();
    peer.write(std::string(200000, 'b'));
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.body.assign(8 << 20, 'x');
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return ended(call); }));
  CHECK(call.heard->end.code == Errc::none);
  CHECK(received > (8U << 20U));
  CHECK(call.heard->body == std::string(200000, 'a') + std::string(200000, 'b'));
}

TEST_CASE("an answer beyond the limit ends the transfer", "[net][G15]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(answer(std::string(50000, 'x')));
    peer.wait_close();
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.max_response_bytes = 20000;
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return ended(call) && server.closed() == 1; }));
  CHECK(call.heard->end.code == Errc::response_too_large);
  CHECK(call.heard->body.size() <= 20000);
}

TEST_CASE("a handler that refuses the body ends the transfer", "[net]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write("data");
    peer.wait_close();
  });
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  call.heard->on_body = [](std::string_view) { return false; };
  REQUIRE(drive(runtime, &server, [&] { return ended(call) && server.closed() == 1; }));
  CHECK(call.heard->end.code == Errc::invalid_response);
}

TEST_CASE("a handler that throws ends its transfer and no other", "[net][G16]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write("data");
    if (peer.wait_step()) peer.write("more");
  });
  Runtime runtime;
  const Call bad = start(runtime, request_to(server.url()));
  const Call good = start(runtime, request_to(server.url()));
  bad.heard->on_body = [](std::string_view) -> bool { throw std::runtime_error("no"); };
  REQUIRE(drive(runtime, &server, [&] { return ended(bad) && good.heard->body == "data"; }));
  CHECK(bad.heard->end.code == Errc::callback_failed);
  server.step();
  server.step();
  REQUIRE(drive(runtime, &server, [&] { return ended(good); }));
  CHECK(good.heard->body == "datamore");
  CHECK(good.heard->end.code == Errc::none);
}

TEST_CASE("errors say what happened and where without secrets", "[net][O5]") {
  const auto expect = [](detail::net::HttpRequest request, const SocketServer* server, Errc code) {
    Runtime runtime;
    request.headers.push_back("Authorization: Bearer sk-secret");
    const Call call = start(runtime, std::move(request));
    REQUIRE(drive(runtime, server, [&] { return ended(call); }));
    CHECK(to_string(call.heard->end.code) == to_string(code));
    CHECK(!call.heard->end.message.empty());
    CHECK(call.heard->end.message.find("sk-secret") == std::string::npos);
    CHECK(call.heard->end.message.find("hunter2") == std::string::npos);
    CHECK(open_transfers(runtime) == 0);
    return call.heard->end.message;
  };

  SECTION("connection refused") {
    std::string url;
    { url = SocketServer(answer_all).url(); }
    const std::string said = expect(request_to(url), nullptr, Errc::network_error);
    CHECK(said.find(url.substr(7, url.find('/', 7) - 7)) != std::string::npos);
  }
  SECTION("a password in the address") {
    std::string url;
    { url = SocketServer(answer_all).url(); }
    expect(request_to("http://me:hunter2@" + url.substr(7)), nullptr, Errc::network_error);
  }
  SECTION("closed before the answer") {
    SocketServer server([](Peer& peer) { peer.read_request(); });
    expect(request_to(server.url()), &server, Errc::network_error);
  }
  SECTION("closed in the middle of the answer") {
    SocketServer server([](Peer& peer) {
      peer.read_request();
      peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    });
    expect(request_to(server.url()), &server, Errc::network_error);
  }
  SECTION("no HTTP") {
    SocketServer server([](Peer& peer) {
      peer.read_request();
      peer.write("220 smtp.example.com ESMTP sk-secret\r\n");
    });
    expect(request_to(server.url()), &server, Errc::invalid_response);
  }
  SECTION("another protocol") {
    expect(request_to("ftp://127.0.0.1/x"), nullptr, Errc::invalid_config);
  }
  SECTION("no address at all") {
    expect(request_to("http://"), nullptr, Errc::invalid_config);
  }
  SECTION("an unknown host") {
    expect(request_to("http://unknown.test/x"), nullptr, Errc::resolve_failed);
  }
  SECTION("plain HTTP where TLS was asked for") {
    SocketServer server([](Peer& peer) {
      peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
      peer.wait_close();
    });
    expect(request_to(server.url("https")), &server, Errc::tls_error);
  }
}
