// The options of an HttpLlmClient reach the transport: time-outs, limits, certificates, redirects.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/wire/gzip.hpp"
#include "support/wire/tls_identity.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <mutex>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

const std::string whole_answer = R"({"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],)"
                                 R"("usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}})";

// None of them is a default, and no two are alike.
HttpLlmOptions options_for(std::string base_url) {
  HttpLlmOptions options;
  options.base_url = std::move(base_url);
  options.api_key = api_key;
  options.model = "test-model";
  options.proxy = "none";
  options.connect_timeout = 7s;
  options.first_byte_timeout = 50s;
  options.stall_timeout = 20s;
  options.total_timeout = 90s;
  return options;
}

// A client on a clock that only the test moves.
struct Timed {
  explicit Timed(HttpLlmOptions options) : llm(runtime, std::move(options)) {}

  void chat(ChatRequest request = ask("a")) { llm.chat(std::move(request), StopToken(), heard.sink()); }
  bool drive_until(SocketServer& server, const std::function<bool()>& done) {
    return drive(runtime, &server, done);
  }
  bool drive_to_end(SocketServer& server) {
    return drive_until(server, [this] { return heard.ended(); });
  }
  void pass(Duration time) {
    clock.advance(time);
    while (runtime.poll()) {
    }
  }
  // The call goes on until that much time has passed, and not a nanosecond longer.
  void check_ends_after(Duration time, Errc code) {
    pass(time - 1ns);
    CHECK_FALSE(heard.ended());
    pass(1ns);
    REQUIRE(heard.ended());
    CHECK(to_string(heard.error().code) == to_string(code));
    CHECK(llm.open_calls() == 0);
    CHECK(open_transfers(runtime) == 0);
  }

  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock}};
  HttpLlmClient llm;
  ChatRecord heard;
};

// Each piece but the first waits for a step.
void drip(Peer& peer) {
  peer.read_request();
  peer.write(stream_head);
  while (peer.write(delta_event("x")) && peer.wait_step()) {
  }
  peer.wait_close();
}

// Lets `time` pass before each of `count` further pieces.
void let_drip(Timed& f, SocketServer& server, int count, Duration time) {
  for (int i = 0; i <= count; ++i) {
    if (i > 0) {
      f.pass(time);
      server.step();
    }
    REQUIRE(f.drive_until(server, [&] { return f.heard.deltas.size() == static_cast<std::size_t>(i) + 1; }));
  }
}

// Asks for a whole answer, which is sent as `reply`, and keeps the request's head.
struct Whole {
  explicit Whole(std::string answer, std::size_t max_response_bytes = 1 << 20)
      : reply(std::move(answer)), f(limited(max_response_bytes)) {
    ChatRequest request = ask("a");
    request.stream = false;
    f.chat(std::move(request));
    REQUIRE(f.drive_to_end(server));
  }

  HttpLlmOptions limited(std::size_t max_response_bytes) {
    HttpLlmOptions options = options_for(server.url());
    options.max_response_bytes = max_response_bytes;
    return options;
  }
  bool was_asked(std::string_view line) {
    const std::lock_guard lock(mutex);
    return seen.find(line) != std::string::npos;
  }

  std::string reply;
  std::mutex mutex;
  std::string seen;
  SocketServer server{[this](Peer& peer) {
    std::string request = peer.read_request();
    {
      const std::lock_guard lock(mutex);
      seen = std::move(request);
    }
    peer.write(reply);
    peer.wait_close();
  }};
  Timed f;
};

std::string zipped(std::string_view bytes) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: " +
         std::to_string(bytes.size()) + "\r\n\r\n" + std::string(bytes);
}

void answer_all(Peer& peer) {
  while (!peer.read_request().empty())
    peer.write(http_answer("200 OK", "text/event-stream", delta_event("hello") + finish_event + done_event));
}

std::string redirect(std::string_view location) {
  return "HTTP/1.1 307 Go\r\nLocation: " + std::string(location) + "\r\nContent-Length: 0\r\n\r\n";
}

}  // namespace

TEST_CASE("the deadline of a request ends a slow stream whatever the time-outs of the client",
          "[openai][G5][G15][X21]") {
  SocketServer server(drip);
  Timed f(options_for(server.url()));
  f.pass(5s);
  ChatRequest request = ask("a");
  request.deadline = f.runtime.now() + 37s;
  f.chat(std::move(request));
  let_drip(f, server, 3, 10s);
  f.check_ends_after(7s, Errc::deadline_exceeded);
  CHECK(f.heard.text() == "xxxx");
}

TEST_CASE("each time-out of a client ends a call with its own error", "[openai][G5][X21]") {
  SECTION("connecting") {
    SocketServer server([](Peer& peer) { peer.wait_close(); });
    Timed f(options_for(server.url("https")));
    f.chat();
    REQUIRE(f.drive_until(server, [&] { return server.accepted() == 1; }));
    f.check_ends_after(7s, Errc::connect_timeout);
    CHECK(server.wait([&] { return server.closed() == 1; }));
  }
  SECTION("the first byte") {
    SocketServer server([](Peer& peer) {
      peer.read_request();
      peer.wait_close();
    });
    Timed f(options_for(server.url()));
    f.chat();
    REQUIRE(f.drive_until(server, [&] { return server.requests() == 1; }));
    f.check_ends_after(50s, Errc::first_byte_timeout);
    CHECK(server.wait([&] { return server.closed() == 1; }));
  }
  SECTION("a silence") {
    SocketServer server(drip);
    Timed f(options_for(server.url()));
    f.chat();
    let_drip(f, server, 1, 19s);
    f.check_ends_after(20s, Errc::stall_timeout);
  }
  SECTION("the whole") {
    SocketServer server(drip);
    Timed f(options_for(server.url()));
    f.chat();
    let_drip(f, server, 8, 10s);
    f.check_ends_after(10s, Errc::total_timeout);
  }
}

TEST_CASE("a whole answer may come compressed", "[openai][O5]") {
  Whole asked(zipped(gzip(whole_answer)));
  CHECK(asked.was_asked("\r\nAccept-Encoding: gzip, deflate\r\n"));
  CHECK(asked.f.heard.completed());
  CHECK(asked.f.heard.text() == "hello");
}

TEST_CASE("the size limit of answers counts decompressed bytes", "[openai][G15]") {
  const Bomb bomb = gzip_bomb();
  std::string bytes = bomb.head;
  for (int i = 0; i < 1000; ++i) bytes += bomb.repeat;  // two million zeros
  REQUIRE(bytes.size() < 1 << 16);
  Whole asked(zipped(bytes), 1 << 20);
  CHECK(asked.f.heard.failed_with(Errc::response_too_large));
  CHECK(asked.f.heard.text().empty());
  CHECK(asked.server.wait([&] { return asked.server.closed() == 1; }));
}

TEST_CASE("a client trusts only the configured certificates", "[openai][tls]") {
  const TlsIdentity identity;
  SocketServer server(answer_all, identity.context());
  HttpLlmOptions options = options_for(server.url("https"));
  SECTION("told") {
    options.ca_file = identity.certificate_file();
    Timed f(options);
    f.chat();
    REQUIRE(f.drive_to_end(server));
    CHECK(f.heard.completed());
    CHECK(f.heard.text() == "hello");
  }
  SECTION("not told") {
    Timed f(options);
    f.chat();
    REQUIRE(f.drive_to_end(server));
    CHECK(f.heard.failed_with(Errc::tls_error));
    CHECK(server.requests() == 0);
  }
}

TEST_CASE("a redirect to another origin is an error and is not followed", "[openai][O5]") {
  SocketServer foreign(answer_all);
  SocketServer server([&](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(redirect(foreign.url()));
  });
  Timed f(options_for(server.url()));
  f.chat();
  REQUIRE(f.drive_to_end(server));
  REQUIRE(f.heard.failed_with(Errc::http_error));
  CHECK(f.heard.error().http_status == 307);
  const auto place = [](const SocketServer& at) {
    return "http://127.0.0.1:" + std::to_string(at.port()) + "/";
  };
  CHECK(f.heard.error().message.starts_with("HTTP 307 from " + place(server)));
  CHECK(f.heard.error().message.find(", the redirect to " + place(foreign)) != std::string::npos);
  CHECK(f.heard.error().message.ends_with(
      "was not followed: it leads to another scheme, host or port: the answer has no text (set "
      "HttpLlmOptions::base_url to the new address, if you trust it)"));
  CHECK(server.requests() == 1);
  CHECK(foreign.accepted() == 0);
}

TEST_CASE("a client follows at most the configured number of redirects", "[openai][O5]") {
  SocketServer server([](Peer& peer) {
    for (int i = 0; i < 2 && !peer.read_request().empty(); ++i) peer.write(redirect("/next"));
    answer_all(peer);
  });
  HttpLlmOptions options = options_for(server.url());
  SECTION("two") {
    options.max_redirects = 2;
    Timed f(options);
    f.chat();
    REQUIRE(f.drive_to_end(server));
    CHECK(f.heard.completed());
    CHECK(server.requests() == 3);
  }
  SECTION("one") {
    options.max_redirects = 1;
    Timed f(options);
    f.chat();
    REQUIRE(f.drive_to_end(server));
    REQUIRE(f.heard.failed_with(Errc::http_error));
    CHECK(f.heard.error().message.find("HttpLlmOptions::max_redirects allows") != std::string::npos);
    CHECK(server.requests() == 2);
  }
}
