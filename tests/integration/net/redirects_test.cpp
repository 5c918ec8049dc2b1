// Redirects: followed within one origin, with the whole request, under the same stop and the same deadlines.
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <atomic>
#include <future>
#include <mutex>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

std::string redirect(int status, std::string_view location) {
  return "HTTP/1.1 " + std::to_string(status) + " Go\r\nLocation: " + std::string(location) +
         "\r\nContent-Length: 4\r\n\r\nthen";
}

// Redirects the first `count` requests, and answers the others. Keeps what it was asked.
struct Origin {
  explicit Origin(std::string answer_before, int count = 1)
      : before(std::move(answer_before)), left(count), server([this](Peer& peer) { serve(peer); }) {}

  void serve(Peer& peer) {
    for (std::string request = peer.read_request(); !request.empty(); request = peer.read_request()) {
      {
        const std::lock_guard lock(mutex);
        asked.push_back(std::move(request));
      }
      peer.write(left-- > 0 ? before : answer("hello"));
    }
  }

  std::string before;
  std::atomic<int> left;
  std::mutex mutex;
  std::vector<std::string> asked;
  SocketServer server;
};

detail::net::HttpRequest following(std::string url, std::uint32_t redirects = 3) {
  auto request = request_to(std::move(url));
  request.headers.push_back("Authorization: Bearer sk-secret");
  request.max_redirects = redirects;
  return request;
}

std::string after_line(const std::string& request) {
  return request.substr(request.find("\r\n"));
}

}  // namespace

TEST_CASE("a redirect within the origin is followed with the whole request", "[net][O5]") {
  const int status = GENERATE(307, 308);
  Origin origin(redirect(status, "/v2/y?z=1"));
  Runtime runtime;
  auto request = following(origin.server.url());
  request.body.assign(300000, 'x');
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->end.status == 200);
  CHECK(call.heard->end.message.empty());
  CHECK(call.heard->heads == 1);
  CHECK(call.heard->body == "hello");
  REQUIRE(origin.asked.size() == 2);
  CHECK(origin.asked[1].starts_with("POST /v2/y?z=1 HTTP/1.1\r\n"));
  CHECK(origin.asked[0].find("Authorization: Bearer sk-secret\r\n") != std::string::npos);
  CHECK(after_line(origin.asked[1]) == after_line(origin.asked[0]));
  CHECK(origin.server.accepted() == 1);  // on the same connection
  CHECK(open_transfers(runtime) == 0);
  CHECK(runtime.run_until_idle());
}

TEST_CASE("an absolute URL of the same origin is followed in any spelling", "[net]") {
  Origin origin("");
  SECTION("as it was") {
    origin.before = redirect(307, origin.server.url() + "/next");
  }
  SECTION("without a scheme") {
    origin.before = redirect(307, origin.server.url().substr(5));
  }
  SECTION("in capitals") {
    origin.before = redirect(307, "HTTP" + origin.server.url().substr(4));
  }
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url()));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->status == 200);
  CHECK(origin.asked.size() == 2);
}

TEST_CASE("headers and body of a request never reach another origin", "[net][O5]") {
  SocketServer other([](Peer& peer) { peer.wait_close(); });
  Origin origin("");
  const std::string port = std::to_string(origin.server.port());
  std::string location = other.url();
  SECTION("another port") {
  }
  SECTION("another port without a scheme") {
    location = location.substr(5);
  }
  SECTION("another scheme") {
    location = "https://127.0.0.1:" + port + "/";
  }
  SECTION("another name of the same host") {
    location = "http://localhost:" + port + "/";
  }
  SECTION("a name that ends differently") {
    location = "http://127.0.0.1.example.test:" + port + "/";
  }
  SECTION("a user that looks like the host") {
    location = "http://127.0.0.1:" + port + "@127.0.0.1:" + std::to_string(other.port()) + "/";
  }
  SECTION("a user") {
    location = "http://me:hunter2@127.0.0.1:" + port + "/";
  }
  SECTION("the scheme's own port") {
    location = "http://127.0.0.1/";
  }
  SECTION("another protocol") {
    location = "ftp://127.0.0.1:" + port + "/";
  }
  origin.before = redirect(307, location);
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url()));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->status == 307);
  CHECK(call.heard->end.status == 307);
  CHECK(call.heard->body == "then");
  const std::string& said = call.heard->end.message;
  CHECK(said.starts_with("the redirect to "));
  CHECK(said.ends_with(" was not followed: it leads to another scheme, host or port"));
  CHECK(runtime.run_until_idle());
  CHECK(other.accepted() == 0);
  CHECK(origin.server.requests() == 1);
}

TEST_CASE("an invalid redirect is delivered unchanged", "[net]") {
  std::string location;
  SECTION("empty") {
  }
  SECTION("no address") {
    location = "http://";
  }
  SECTION("spaces") {
    location = "http://127.0.0.1 /x";
  }
  SECTION("a port that is none") {
    location = "http://127.0.0.1:port/";
  }
  Origin origin(redirect(308, location));
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url()));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->status == 308);
  CHECK(call.heard->end.message == "the redirect was not followed: its Location is missing or not a URL");
  CHECK(origin.server.requests() == 1);
}

TEST_CASE("a redirect without a Location is delivered unchanged", "[net]") {
  Origin origin("HTTP/1.1 307 Go\r\nContent-Length: 0\r\n\r\n");
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url()));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->status == 307);
  CHECK(origin.server.requests() == 1);
}

TEST_CASE("a redirect that turns a POST into a GET is not followed", "[net]") {
  const int status = GENERATE(301, 302, 303);
  Origin origin(redirect(status, "/next"));
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url()));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->end.code == Errc::none);
  CHECK(call.heard->status == status);
  CHECK(call.heard->end.message == "the redirect to " +
                                       origin.server.url().substr(0, origin.server.url().find("/v1")) +
                                       "/next was not followed: with this status a POST would become a GET");
  CHECK(origin.server.requests() == 1);
}

TEST_CASE("no more redirects are followed than allowed", "[net][G15]") {
  const std::uint32_t allowed = GENERATE(0U, 1U, 3U);
  Origin origin(redirect(307, "/round"), 100);
  Runtime runtime;
  const Call call = start(runtime, following(origin.server.url(), allowed));
  REQUIRE(drive(runtime, &origin.server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->status == 307);
  CHECK(call.heard->heads == 1);
  CHECK(call.heard->end.message.ends_with(
      "/round was not followed: it is one more than HttpLlmOptions::max_redirects allows"));
  CHECK(origin.asked.size() == allowed + 1);
}

TEST_CASE("a redirect before the end of the request is followed", "[net]") {
  std::atomic<int> connections = 0;
  SocketServer server([&](Peer& peer) {
    if (++connections == 1) {
      peer.write(redirect(307, "/next"));
      peer.wait_close();
    } else if (!peer.read_request().empty()) {
      peer.write(answer("hello"));
    }
  });
  Runtime runtime;
  auto request = following(server.url());
  request.body.assign(8 << 20, 'x');
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(call.heard->status == 200);
  CHECK(server.requests() == 1);
}

// Both what redirects and what cuts wait for their turn in the same poll, in this order.
TEST_CASE("a stop between a redirect and its target takes effect", "[net][G5][A9]") {
  std::promise<void> redirected, spoke;
  SocketServer server([&](Peer& peer) {
    if (peer.read_request().ends_with("is redirected")) {
      if (peer.wait_step()) peer.write(redirect(307, "/next"));
      redirected.set_value();
      peer.read_request();
    } else {
      redirected.get_future().wait();
      peer.write(std::string(stream_head) + "x");
      spoke.set_value();
    }
    peer.wait_close();
  });
  Runtime runtime;
  auto request = following(server.url());
  const Call speaking = start(runtime, request);
  request.body = "is redirected";
  const Call call = start(runtime, std::move(request));
  bool was_open = false;
  speaking.heard->on_body = [&](std::string_view) { return was_open = call.handle->cut(); };
  REQUIRE(drive(runtime, &server, [&] { return server.requests() == 2; }));
  server.step();
  spoke.get_future().wait();
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(was_open);
  CHECK(call.heard->end.code == Errc::cancelled);
  CHECK(call.heard->heads == 0);
  CHECK(server.requests() == 2);
  CHECK(server.accepted() == 2);
}

TEST_CASE("a redirect restarts the time-outs of phases but not that of the whole", "[net][G5][X21]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    if (peer.wait_step()) peer.write(redirect(307, "/next"));
    peer.read_request();
    peer.wait_close();
  });
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock});
  auto request = following(server.url());
  request.first_byte_timeout = 60s;
  const bool whole = GENERATE(false, true);
  if (whole) request.total_timeout = 100s;
  const auto pass = [&](Duration time) {
    clock.advance(time);
    while (runtime.poll()) {
    }
  };
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return server.requests() == 1; }));
  pass(50s);
  server.step();
  REQUIRE(drive(runtime, &server, [&] { return server.requests() == 2; }));
  pass((whole ? 50s : 60s) - 1ns);
  CHECK(call.heard->ends == 0);
  pass(1ns);
  CHECK(call.heard->end.code == (whole ? Errc::total_timeout : Errc::first_byte_timeout));
  CHECK(server.wait([&] { return server.closed() == 1; }));
}
