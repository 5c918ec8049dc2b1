// How transfers that fail end, word for word: what happened, where, and what to change.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/drive/no_descriptors.hpp"
#include "support/wire/tls_identity.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <optional>
#include <utility>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

const std::string again =
    "send the message again; if this happens often, look for a time limit of the server or of a proxy before "
    "it";

detail::net::HttpEnd end_of(const SocketServer* server, detail::net::HttpRequest request) {
  Runtime runtime;
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, server, [&] { return call.heard->ends == 1; }));
  return call.heard->end;
}

// The end of a request to "/v1/x?key=hunter2" whose server sends `reply` and closes the connection.
detail::net::HttpEnd end_after(std::string reply, std::string* place) {
  SocketServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(reply);
  });
  *place = server.url();
  return end_of(&server, request_to(server.url() + "?key=hunter2"));
}

}  // namespace

TEST_CASE("the error for an unreachable server names it and what to check", "[net][O5]") {
  std::string url;
  {
    url = SocketServer([](Peer&) {}).url();
  }
  const detail::net::HttpEnd end = end_of(nullptr, request_to(url + "?key=hunter2"));
  CHECK(end.code == Errc::network_error);
  CHECK(end.message == "no connection to " + url +
                           ": Connection refused; check HttpLlmOptions::base_url, and that the server runs");
}

TEST_CASE("the error for a lack of descriptors names it", "[net][O5]") {
  SocketServer server(stream_once);
  Runtime runtime;
  REQUIRE(runtime.poll_descriptor() >= 0);
  std::optional<NoDescriptors> none(std::in_place);
  const Call call = start(runtime, request_to(server.url()));
  for (int i = 0; i < 1000 && call.heard->ends == 0; ++i) runtime.poll();
  none.reset();
  REQUIRE(call.heard->ends == 1);
  CHECK(call.heard->end.code == Errc::network_error);
  CHECK(
      call.heard->end.message ==
      "no socket for a connection to " + server.url() +
          ": Too many open files; allow this process more descriptors (ulimit -n), or make fewer calls at a "
          "time (CallLimits)");
}

TEST_CASE("the error for a truncated answer is the same for every framing", "[net][O5]") {
  const auto reply =
      GENERATE(as<std::string>(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
               "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
  std::string place;
  const detail::net::HttpEnd end = end_after(reply, &place);
  CHECK(end.code == Errc::network_error);
  CHECK(end.message == "the connection to " + place + " broke before the answer was complete; " + again);
}

TEST_CASE("the error for a server without HTTP suggests TLS", "[net][O5]") {
  std::string place;
  const detail::net::HttpEnd nothing = end_after("", &place);
  CHECK(nothing.code == Errc::network_error);
  CHECK(nothing.message == "the connection to " + place + " broke before the answer began; " + again +
                               "; if the server speaks TLS, write https:// in HttpLlmOptions::base_url");
  const detail::net::HttpEnd alert = end_after("\x15\x03\x01\x00\x02\x02\x16", &place);
  CHECK(alert.code == Errc::invalid_response);
  CHECK(alert.message == "the answer from " + place +
                             " is not HTTP; check HttpLlmOptions::base_url; if the server speaks TLS, "
                             "write https:// in HttpLlmOptions::base_url");
}

TEST_CASE("the error for a server without TLS names it", "[net][tls][O5]") {
  SocketServer server([](Peer& peer) {
    peer.read_piece();
    peer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  });
  const detail::net::HttpEnd end = end_of(&server, request_to(server.url("https")));
  CHECK(end.code == Errc::tls_error);
  CHECK(end.message.starts_with("no TLS connection to " + server.url("https") + ": "));
  CHECK(end.message.ends_with(
      "; the server seems to speak plain HTTP: write http:// in HttpLlmOptions::base_url, or its TLS port"));
}

TEST_CASE("the error for an untrusted certificate names the option", "[net][tls][O5]") {
  TlsIdentity identity;
  SocketServer server([](Peer& peer) { peer.wait_close(); }, identity.context());
  const detail::net::HttpEnd system = end_of(&server, request_to(server.url("https")));
  CHECK(system.code == Errc::tls_error);
  CHECK(system.message.starts_with("no TLS connection to " + server.url("https") + ": "));
  CHECK(system.message.ends_with(
      "; if an authority of your own has signed the server's certificate, name its PEM bundle in "
      "HttpLlmOptions::ca_file (the system's certificates are used now)"));
  auto request = request_to(server.url("https"));
  request.ca_file = "/no/such/bundle.pem";
  const detail::net::HttpEnd unreadable = end_of(&server, std::move(request));
  CHECK(unreadable.code == Errc::tls_error);
  CHECK(unreadable.message.ends_with(
      "; HttpLlmOptions::ca_file must name a PEM bundle that can be read (now /no/such/bundle.pem)"));
}

TEST_CASE("the error for a time-out names its length and its option", "[net][G5]") {
  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock}};
  SocketServer server([](Peer& peer) {
    if (peer.read_request().find("/stream") != std::string::npos) peer.write(std::string(stream_head) + "x");
    peer.wait_close();
  });
  auto request = request_to(server.url() + "?key=hunter2");
  std::string expected;
  SECTION("connecting") {
    request.url = server.url("https") + "?key=hunter2";
    request.connect_timeout = 2500ms;
    expected = "no connection to " + server.url("https") +
               " within 2.5 s; check HttpLlmOptions::base_url and the network, or raise "
               "HttpLlmOptions::connect_timeout";
  }
  SECTION("the first byte") {
    request.first_byte_timeout = 300s;
    expected = "no answer from " + server.url() +
               " within 300 s; if the model may need longer, raise HttpLlmOptions::first_byte_timeout";
  }
  SECTION("silence") {
    request.url = server.url() + "/stream?key=hunter2";
    request.stall_timeout = 40s;
    expected = "nothing more of the answer from " + server.url() +
               "/stream arrived for 40 s; if the model may pause longer, raise HttpLlmOptions::stall_timeout";
  }
  SECTION("the whole call") {
    request.total_timeout = 50s;
    expected = "no complete answer from " + server.url() +
               " within 50 s; if a call may take longer, raise HttpLlmOptions::total_timeout";
  }
  SECTION("the caller's deadline") {
    request.deadline = clock.now() + 60s;
    expected = "no complete answer from " + server.url() +
               " before the caller's deadline; if a call may take longer, set a later ChatRequest::deadline";
  }
  const bool streams = request.url.find("/stream") != std::string::npos;
  const bool tls = request.url.starts_with("https");
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] {
    return streams ? !call.heard->body.empty() : tls ? server.accepted() == 1 : server.requests() == 1;
  }));
  clock.advance(300s);
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.message == expected);
}

TEST_CASE("the error for a too large answer names the option", "[net][G15]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(answer(std::string(5000, 'x')));
    peer.wait_close();
  });
  auto request = request_to(server.url());
  request.max_response_bytes = 1000;
  const detail::net::HttpEnd end = end_of(&server, std::move(request));
  CHECK(end.code == Errc::response_too_large);
  CHECK(end.message == "the answer from " + server.url() +
                           " is larger than 1000 bytes; if the server can be trusted, raise "
                           "HttpLlmOptions::max_response_bytes");
}

TEST_CASE("the error for a redirect names its target without secrets", "[net][O5]") {
  std::string place;
  const detail::net::HttpEnd end = end_after(
      "HTTP/1.1 302 Found\r\nLocation: https://me:hunter2@other.test/v2/x?key=hunter2#f\r\nContent-Length: "
      "0\r\n\r\n",
      &place);
  CHECK(end.code == Errc::none);
  CHECK(end.message ==
        "the redirect to https://other.test:443/v2/x was not followed: with this status a POST would become "
        "a GET");
}
