// The connections that are kept for the next calls: how many, and until when.
#include "support/catch.hpp"
#include "support/drive/llm_fixture.hpp"
#include "support/drive/net_fixture.hpp"

#include <string>
#include <vector>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void answer_all(Peer& peer) {
  while (!peer.read_request().empty()) peer.write(answer("hello"));
}

// Answers once, and closes the connection when the test says so.
void answer_once(Peer& peer) {
  if (peer.read_request().empty()) return;
  peer.write(answer("hello"));
  peer.wait_step();
}

// The number of this process's sockets on the client's side that are open, connected or shut down.
std::size_t client_sockets(const SocketServer& server) {
  static const sockaddr_in none{};
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::stoi(entry.path().filename().string());
    int type = 0;
    socklen_t size = sizeof(type);
    if (::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) continue;
    sockaddr_in own = none;
    size = sizeof(own);
    if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) continue;
    if (own.sin_family == AF_INET && ntohs(own.sin_port) != server.port()) ++count;
  }
  return count;
}

using Pools = detail::net::ConnectionPools;

struct Load {
  explicit Load(SocketServer::Script script, RuntimeOptions options = {},
                std::size_t pool_size = Pools::usual_size)
      : server(std::move(script)), runtime(std::move(options)) {
    use_pools_of(pool_size, runtime);
  }

  // Runs `width` transfers side by side to their ends.
  void run(std::size_t width) {
    std::vector<Call> calls;
    for (std::size_t i = 0; i < width; ++i) calls.push_back(start(runtime, request_to(server.url())));
    REQUIRE(drive(runtime, &server, [&] {
      return std::all_of(calls.begin(), calls.end(), [](const Call& call) { return call.heard->ends > 0; });
    }));
    for (const Call& call : calls) REQUIRE(call.heard->end.code == Errc::none);
  }
  bool comes_to(std::size_t sockets) {
    return drive(runtime, &server, [&] { return client_sockets(server) == sockets; });
  }

  SocketServer server;
  Runtime runtime;
};

RuntimeOptions keeping(std::uint32_t connections) {
  RuntimeOptions options;
  options.max_idle_connections = connections;
  return options;
}

}  // namespace

TEST_CASE("after a burst at most the configured number of connections is kept", "[net][G13][G15]") {
  Load load(answer_all, keeping(3), GENERATE(as<std::size_t>(), Pools::usual_size, 4, 1));
  load.run(20);
  CHECK(load.comes_to(3));
  CHECK(load.server.wait([&] { return load.server.closed() == load.server.accepted() - 3; }));
  const int accepted = load.server.accepted();
  load.run(3);
  CHECK(load.server.accepted() == accepted);  // those that are kept are used
  CHECK(client_sockets(load.server) == 3);
}

TEST_CASE("eight idle connections are kept by default", "[net][G13]") {
  Load load(answer_all, {}, GENERATE(as<std::size_t>(), Pools::usual_size, 3));
  load.run(20);
  CHECK(load.comes_to(8));
}

TEST_CASE("without kept connections each transfer makes its own connection", "[net][G13]") {
  Load load(answer_all, keeping(0), GENERATE(as<std::size_t>(), Pools::usual_size, 1));
  for (int i = 0; i < 3; ++i) {
    load.run(2);
    CHECK(load.comes_to(0));
  }
  CHECK(load.server.accepted() == 6);
}

TEST_CASE("a connection pool without connections takes no descriptors", "[net][G13]") {
  Load load(answer_all, keeping(0), 2);
  load.run(1);
  REQUIRE(load.comes_to(0));
  const auto descriptors = [&] {
    return open_descriptors() - static_cast<std::size_t>(load.server.accepted());
  };
  const std::size_t of_one_pool = descriptors();
  load.run(7);
  REQUIRE(load.comes_to(0));
  CHECK(drive(load.runtime, &load.server, [&] { return descriptors() == of_one_pool; }));
  load.run(7);  // they can be used again
  CHECK(load.server.accepted() == 15);
}

TEST_CASE("a connection pool whose kept connections are closed takes no descriptors", "[net][G13]") {
  Load load(answer_once, keeping(8), 2);
  const auto descriptors = [&] {
    return open_descriptors() - static_cast<std::size_t>(load.server.accepted()) -
           client_sockets(load.server);
  };
  load.run(1);
  const std::size_t of_one_pool = descriptors();
  load.server.step();
  REQUIRE(load.comes_to(0));
  load.run(6);
  REQUIRE(descriptors() > of_one_pool);
  // libcurl closes connections that have ended since its last check, which was at the start of a transfer,
  // but only if that was a second ago.
  const Duration wait = GENERATE(as<Duration>(), Duration(0), std::chrono::milliseconds(1100));
  bool is_over = false;
  detail::loop::Engine& engine = *detail::loop::engine_of(load.runtime);
  engine.start_timer(engine.now() + wait, [&] { is_over = true; });
  REQUIRE(drive(load.runtime, &load.server, [&] { return is_over; }));
  for (int i = 0; i < 6; ++i) load.server.step();
  SECTION("some are seen to end before the others have ended") {
  }
  SECTION("all are seen to have ended at once") {
    REQUIRE(load.server.wait([&] { return load.server.served() == 7; }));
  }
  REQUIRE(load.comes_to(0));
  CHECK(drive(load.runtime, &load.server, [&] { return descriptors() <= of_one_pool; }));
}

TEST_CASE("a kept connection that its server closes is closed here", "[net][G13]") {
  Load load(answer_once, {}, GENERATE(as<std::size_t>(), Pools::usual_size, 2));
  load.run(5);
  REQUIRE(client_sockets(load.server) == 5);
  for (int i = 0; i < 5; ++i) load.server.step();
  CHECK(load.comes_to(0));
}

TEST_CASE("if a server closes one kept connection the others stay in use", "[net][G13]") {
  const auto close_the_first = [closed = std::make_shared<std::atomic<bool>>(false)](Peer& peer) {
    if (!closed->exchange(true)) return answer_once(peer);
    answer_all(peer);
  };
  Load load(close_the_first, {}, GENERATE(as<std::size_t>(), Pools::usual_size, 1));
  load.run(4);
  REQUIRE(client_sockets(load.server) == 4);
  load.server.step();
  CHECK(load.comes_to(3));
  load.run(3);
  CHECK(load.server.accepted() == 4);
}

TEST_CASE("a call right after a server has closed a kept connection succeeds", "[net][G13]") {
  Load load([closed = std::make_shared<std::atomic<bool>>(false)](Peer& peer) {
    if (!closed->exchange(true)) return answer_once(peer);
    answer_all(peer);
  });
  load.run(2);
  load.server.step();
  REQUIRE(load.server.wait([&] { return load.server.served() == 1; }));
  SECTION("before the end is seen here") {
  }
  SECTION("after the end was seen here") {
    while (load.runtime.poll()) {
    }
  }
  load.run(2);
  CHECK(load.server.accepted() <= 3);
}

TEST_CASE("busy connections are not counted as kept", "[net]") {
  Load load(
      [](Peer& peer) {
        const std::string request = peer.read_request();
        if (request.find("/stay") == std::string::npos) {
          peer.write(answer("hello"));
          return answer_all(peer);
        }
        peer.write(stream_head);
        peer.write("data: 1\n\n");
        peer.wait_close();
      },
      keeping(2));
  std::vector<Call> streams;
  for (int i = 0; i < 6; ++i) streams.push_back(start(load.runtime, request_to(load.server.url() + "/stay")));
  REQUIRE(drive(load.runtime, &load.server, [&] {
    return std::all_of(streams.begin(), streams.end(),
                       [](const Call& call) { return !call.heard->body.empty(); });
  }));
  for (int i = 0; i < 4; ++i) load.run(1);
  CHECK(load.server.accepted() == 7);
  CHECK(client_sockets(load.server) == 7);
}

TEST_CASE("a kept connection with unexpected bytes is not reused", "[net]") {
  Load load([](Peer& peer) {
    if (peer.read_request().empty()) return;
    peer.write(answer("hello"));
    peer.wait_step();
    peer.write("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
    peer.wait_close();
  });
  load.run(1);
  load.server.step();
  CHECK(load.comes_to(0));
  load.run(1);
  CHECK(load.server.accepted() == 2);
}

TEST_CASE("no connection is kept after the last client of a Runtime", "[net][llm][G13]") {
  LlmFixture f([](Peer& peer) {
    while (!peer.read_request().empty())
      peer.write(http_answer("200 OK", "text/event-stream", delta_event("x") + finish_event + done_event));
  });
  auto second = std::make_unique<HttpLlmClient>(*f.runtime, f.client_options());
  second->chat(ask("b"), {}, f.other.sink());
  REQUIRE(f.drive_to_end(f.other));
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  CHECK(f.drive_until([&] { return f.runtime->run_until_idle().is_idle(); }));
  CHECK(client_sockets(f.server) == 1);
  f.llm.reset();
  CHECK(client_sockets(f.server) == 1);  // the other client may use it
  second.reset();
  CHECK(client_sockets(f.server) == 0);
  CHECK(f.server.wait([&] { return f.server.closed() == f.server.accepted(); }));

  f.llm = std::make_unique<HttpLlmClient>(*f.runtime, f.client_options());
  ChatRecord again;
  f.chat("a", again);
  REQUIRE(f.drive_to_end(again));
  CHECK(again.completed());
}

TEST_CASE("a client destroyed during a call leaves no connection", "[net][llm][G13]") {
  LlmFixture f([](Peer& peer) {
    for (;;) {
      const std::string request = peer.read_request();
      if (request.empty()) return;
      if (request.find("\"wait\"") != std::string::npos) return peer.wait_close();
      peer.write(http_answer("200 OK", "text/event-stream", delta_event("x") + finish_event + done_event));
    }
  });
  f.chat("a", f.heard);
  REQUIRE(f.drive_to_end(f.heard));
  ChatRequest wait = ask("b");
  wait.model = "wait";
  f.llm->chat(std::move(wait), {}, f.other.sink());
  REQUIRE(f.drive_until([&] { return f.server.requests() == 2; }));
  f.llm.reset();
  CHECK(f.other.cancelled());
  CHECK(f.drive_until([&] { return client_sockets(f.server) == 0; }));
}
