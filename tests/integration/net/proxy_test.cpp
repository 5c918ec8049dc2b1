// HTTP proxies: what they receive, what they may refuse, and that no error shows their credentials.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

std::string proxy_url(const SocketServer& server) {
  return "http://me:hunter2@127.0.0.1:" + std::to_string(server.port());
}

detail::net::HttpRequest through(std::string proxy, std::string url) {
  auto request = request_to(std::move(url));
  request.headers.push_back("Authorization: Bearer sk-secret");
  request.proxy = std::move(proxy);
  return request;
}

std::shared_ptr<Heard> ask(detail::net::HttpRequest request, const SocketServer* server) {
  Runtime runtime;
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, server, [&] { return call.heard->ends == 1; }));
  const std::string& said = call.heard->end.message;
  INFO(said);
  CHECK(said.find("hunter2") == std::string::npos);
  CHECK(said.find("bWU6aHVudGVyMg") == std::string::npos);  // the same in base64
  CHECK(said.find("sk-secret") == std::string::npos);
  CHECK(runtime.run_until_idle());
  return call.heard;
}

}  // namespace

TEST_CASE("plain HTTP uses the configured proxy", "[net]") {
  std::string seen;
  SocketServer proxy([&](Peer& peer) {
    seen = peer.read_request();
    peer.write(answer("hello"));
  });
  const auto heard = ask(through(proxy_url(proxy), "http://api.test/v1/x"), &proxy);
  CHECK(heard->end.code == Errc::none);
  CHECK(heard->body == "hello");
  CHECK(seen.starts_with("POST http://api.test/v1/x HTTP/1.1\r\n"));
  CHECK(seen.find("Proxy-Authorization: Basic bWU6aHVudGVyMg==\r\n") != std::string::npos);
}

TEST_CASE("the request for a tunnel has no headers for the server", "[net][O5]") {
  std::string seen;
  const int status = GENERATE(403, 407, 502);
  SocketServer proxy([&](Peer& peer) {
    seen = peer.read_request();
    peer.write("HTTP/1.1 " + std::to_string(status) + " No hunter2\r\nContent-Length: 7\r\n\r\nhunter2");
    peer.wait_close();
  });
  const auto heard = ask(through(proxy_url(proxy), "https://api.test/v1/x"), &proxy);
  CHECK(seen.starts_with("CONNECT api.test:443 HTTP/1.1\r\n"));
  CHECK(seen.find("sk-secret") == std::string::npos);
  CHECK(heard->heads == 0);
  CHECK(heard->end.status == 0);
  CHECK(heard->end.code == (status == 407 ? Errc::invalid_config : Errc::network_error));
  CHECK(heard->end.message ==
        "the proxy refused the connection to https://api.test:443/v1/x with HTTP " + std::to_string(status) +
            (status == 407 ? "; it wants a user and a password in HttpLlmOptions::proxy "
                             "(http://user:password@host:port)"
                           : "; check HttpLlmOptions::proxy, and what the proxy allows"));
}

TEST_CASE("a proxy without HTTP is an error", "[net]") {
  SocketServer proxy([](Peer& peer) {
    peer.read_request();
    peer.write("220 hunter2\r\n\r\n");
  });
  const auto heard = ask(through(proxy_url(proxy), "https://api.test/v1/x"), &proxy);
  CHECK(heard->end.code != Errc::none);
  CHECK(heard->heads == 0);
}

TEST_CASE("an error that concerns the proxy shows no password", "[net][O5]") {
  std::string gone;
  {
    gone = proxy_url(SocketServer([](Peer&) {}));
  }
  const std::string rest = gone.substr(7);
  SECTION("nobody listens there") {
    const auto heard = ask(through(gone, "https://api.test/"), nullptr);
    CHECK(heard->end.code == Errc::network_error);
    CHECK(heard->end.message.find(rest.substr(rest.find('@') + 1, 9)) != std::string::npos);
  }
  SECTION("an unknown name") {
    CHECK(ask(through("http://me:hunter2@unknown.test:1", "https://api.test/"), nullptr)->end.code ==
          Errc::resolve_failed);
  }
  SECTION("a scheme that is none") {
    const auto heard = ask(through("foo://" + rest, "https://api.test/"), nullptr);
    CHECK(heard->end.code == Errc::invalid_config);
    CHECK(heard->end.message.find("on the way to https://api.test:443/, is not") != std::string::npos);
  }
  SECTION("a port that is none") {
    CHECK(ask(through("http://me:hunter2@127.0.0.1:port", "https://api.test/"), nullptr)->end.code ==
          Errc::invalid_config);
  }
  SECTION("a space") {
    CHECK(ask(through("http://me:hunter2@127.0.0.1 :1", "https://api.test/"), nullptr)->end.code ==
          Errc::invalid_config);
  }
}

TEST_CASE("a stop during a proxy request closes the connection", "[net][G5][G6]") {
  SocketServer proxy([](Peer& peer) {
    peer.read_request();
    peer.wait_close();
  });
  Runtime runtime;
  const Call call = start(runtime, through(proxy_url(proxy), "https://api.test/v1/x"));
  REQUIRE(drive(runtime, &proxy, [&] { return proxy.requests() == 1; }));
  call.handle->cut();
  REQUIRE(proxy.wait([&] { return proxy.closed() == 1; }));
  REQUIRE(runtime.run_until_idle());
  CHECK(call.heard->end.code == Errc::cancelled);
}
