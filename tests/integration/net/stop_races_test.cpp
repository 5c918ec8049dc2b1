// Cuts from other threads, from callbacks, in crowds, and around the end of the Runtime.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void answer_all(Peer& peer) {
  while (!peer.read_request().empty()) peer.write(answer("hello"));
}

}  // namespace

TEST_CASE("a cut reaches the server while the loop thread is busy in a callback", "[net][G1][G6]") {
  SocketServer server(stream_once);
  Runtime runtime;
  const Call victim = start(runtime, request_to(server.url()));
  REQUIRE(drive(runtime, &server, [&] { return !victim.heard->body.empty(); }));
  bool seen = false;
  const Call busy = start(runtime, request_to(server.url()));
  busy.heard->on_body = [&](std::string_view) {
    std::thread([&] { victim.handle->cut(); }).join();
    seen = server.wait([&] { return server.closed() == 1; });  // the loop does not turn meanwhile
    return true;
  };
  REQUIRE(drive(runtime, &server, [&] { return victim.heard->ends == 1; }));
  CHECK(seen);
  CHECK(victim.heard->end.code == Errc::cancelled);
  CHECK(busy.heard->ends == 0);
}

TEST_CASE("a handler may cut itself and others and start again", "[net][G4]") {
  SocketServer server(stream_once);
  Runtime runtime;
  Call first = start(runtime, request_to(server.url()));
  Call second = start(runtime, request_to(server.url()));
  REQUIRE(drive(runtime, &server, [&] { return !first.heard->body.empty() && !second.heard->body.empty(); }));
  Call cutter = start(runtime, request_to(server.url()));
  Call again;
  cutter.heard->on_body = [&](std::string_view) {
    first.handle->cut();
    cutter.handle->cut();
    second.handle->cut();
    return true;
  };
  cutter.heard->on_end = [&] { again = start(runtime, request_to(server.url())); };
  REQUIRE(drive(runtime, &server, [&] { return cutter.heard->ends == 1 && !again.heard->body.empty(); }));
  CHECK(cutter.heard->body == "data: 1\n\n");
  for (const Call* call : {&first, &second, &cutter}) {
    CHECK(call->heard->ends == 1);
    CHECK(call->heard->end.code == Errc::cancelled);
  }
  CHECK(again.heard->ends == 0);
}

TEST_CASE("no byte reaches a handler after a cut in its own callback", "[net][G7]") {
  SocketServer server([](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write(std::string(100000, 'x'));
    peer.wait_close();
  });
  Runtime runtime;
  const Call call = start(runtime, request_to(server.url()));
  int calls = 0;
  call.heard->on_body = [&](std::string_view) {
    ++calls;
    call.handle->cut();
    return true;
  };
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  CHECK(calls == 1);
  CHECK(call.heard->end.code == Errc::cancelled);
}

TEST_CASE("the Runtime may be destroyed in any callback", "[net][G4]") {
  SocketServer server([](Peer& peer) {
    while (!peer.read_request().empty()) peer.write(answer("hello"));
  });
  const bool in_end = GENERATE(false, true);
  auto runtime = std::make_unique<Runtime>();
  std::vector<Call> calls;
  for (int i = 0; i < 4; ++i) calls.push_back(start(*runtime, request_to(server.url())));
  int heard_after = 0;
  for (Call& call : calls) {
    const auto destroy = [&] {
      if (runtime == nullptr) ++heard_after;
      runtime.reset();
    };
    if (in_end)
      call.heard->on_end = destroy;
    else
      call.heard->on_body = [destroy](std::string_view) { return destroy(), true; };
  }
  while (runtime != nullptr && detail::loop::engine_of(*runtime) != nullptr) {
    const auto engine = detail::loop::engine_of(*runtime);
    engine->driver()->run_for(std::chrono::milliseconds(50));
  }
  CHECK(heard_after == 0);
  for (const Call& call : calls) CHECK(call.heard->destroyed);
  for (const Call& call : calls) call.handle->cut();  // outlives everything
  REQUIRE(server.wait([&] { return server.closed() == server.accepted(); }));
}

TEST_CASE("open transfers are closed without a callback when the Runtime is destroyed", "[net][G13]") {
  SocketServer server(stream_once);
  const std::size_t pool_size = GENERATE(as<std::size_t>(), detail::net::ConnectionPools::usual_size, 2);
  const std::size_t before = open_descriptors();
  std::vector<Call> calls;
  std::shared_ptr<detail::net::Transport> transport;
  {
    Runtime runtime;
    use_pools_of(pool_size, runtime);
    transport = detail::net::Transport::of(*detail::loop::engine_of(runtime));
    for (int i = 0; i < 5; ++i) calls.push_back(start(runtime, request_to(server.url())));
    REQUIRE(drive(runtime, &server, [&] { return !calls.back().heard->body.empty(); }));
    calls.push_back(start(runtime, request_to(server.url())));
  }
  REQUIRE(server.wait([&] { return server.closed() == 5; }));
  CHECK(open_descriptors() == before + static_cast<std::size_t>(server.accepted()));
  for (const Call& call : calls) {
    CHECK(call.heard->ends == 0);
    CHECK(call.heard->destroyed);
    call.handle->cut();
  }
  CHECK(transport->open() == 0);
  auto heard = std::make_shared<Heard>();
  transport->start(request_to(server.url()), calls[0].handle, std::make_unique<RecordingHandler>(heard));
  CHECK(heard->destroyed);
}

TEST_CASE("a cut in one connection pool leaves the transfers of the others", "[net][G5][G6]") {
  std::atomic<bool> answers = false;
  SocketServer server([&answers](Peer& peer) {
    peer.read_request();
    peer.write(stream_head);
    peer.write("data: 1\n\n");
    if (peer.wait_step()) peer.write(answers ? "data: 2\n\n" : "");
  });
  Runtime runtime;
  use_pools_of(2, runtime);
  std::vector<Call> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(start(runtime, request_to(server.url())));
  const auto streaming = [](const Call& call) { return !call.heard->body.empty(); };
  REQUIRE(drive(runtime, &server, [&] { return std::all_of(calls.begin(), calls.end(), streaming); }));
  calls[1].handle->cut();
  calls[4].handle->cut();
  REQUIRE(drive(runtime, &server, [&] { return open_transfers(runtime) == 4; }));
  answers = true;
  for (int i = 0; i < 6; ++i) server.step();
  REQUIRE(drive(runtime, &server, [&] { return open_transfers(runtime) == 0; }));
  for (const std::size_t i : {1U, 4U}) {
    CHECK(calls[i].heard->end.code == Errc::cancelled);
    CHECK(calls[i].heard->body == "data: 1\n\n");
  }
  for (const std::size_t i : {0U, 2U, 3U, 5U}) {
    CHECK(calls[i].heard->end.code == Errc::none);
    CHECK(calls[i].heard->body == "data: 1\n\ndata: 2\n\n");
  }
}

TEST_CASE("many cuts are carried out in order and sockets first", "[net][G5][G6]") {
  SocketServer server(stream_once);
  const std::size_t pool_size = GENERATE(as<std::size_t>(), detail::net::ConnectionPools::usual_size, 30);
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock});
  use_pools_of(pool_size, runtime);
  std::vector<Call> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(start(runtime, request_to(server.url())));
  const auto streaming = [](const Call& call) { return !call.heard->body.empty(); };
  REQUIRE(drive(runtime, &server, [&] { return std::all_of(calls.begin(), calls.end(), streaming); }));
  std::vector<int> order;
  detail::loop::engine_of(runtime)->start_timer(clock.now() + std::chrono::minutes(1), [&] {
    for (int i = 199; i >= 0; --i) {
      calls[static_cast<std::size_t>(i)].heard->on_end = [&order, i] { order.push_back(i); };
      calls[static_cast<std::size_t>(i)].handle->cut();
    }
  });
  // The deadlines of the transfers fire right behind the cuts, in the order of the starts.
  clock.advance(std::chrono::hours(2));
  REQUIRE(drive(runtime, &server, [&] { return server.closed() == 200; }));
  REQUIRE(drive(runtime, &server, [&] { return open_transfers(runtime) == 0; }));
  CHECK(order.size() == 200);
  CHECK(std::is_sorted(order.rbegin(), order.rend()));
  CHECK(runtime.run_until_idle());
}

// A kept connection that dies before it answered makes libcurl send the request again, on another one. Here
// both the death and a cut wait for their turn in the same poll, the cut first.
TEST_CASE("a transfer that was cut on a kept connection is not resent", "[net][G5][A7][A9]") {
  std::promise<void> spoke;
  const std::shared_future<void> spoken = spoke.get_future().share();
  SocketServer server([&](Peer& peer) {
    peer.read_request();
    peer.write(answer("kept"));
    const std::string second = peer.read_request();
    if (second.ends_with("speaks")) {
      if (peer.wait_step()) peer.write(std::string(stream_head) + "data: 1\n\n");
      spoke.set_value();
      peer.wait_close();
    } else if (second.ends_with("dies")) {
      spoken.wait();
    } else {
      peer.wait_close();
    }
  });
  Runtime runtime;
  std::vector<Call> warm;
  for (int i = 0; i < 3; ++i) warm.push_back(start(runtime, request_to(server.url())));
  const auto done = [](const Call& call) { return call.heard->ends == 1; };
  REQUIRE(drive(runtime, &server, [&] { return std::all_of(warm.begin(), warm.end(), done); }));
  REQUIRE(runtime.run_until_idle());
  const auto start_with = [&](std::string body) {
    auto request = request_to(server.url());
    request.body = std::move(body);
    return start(runtime, std::move(request));
  };
  const Call speaking = start_with("speaks");
  const Call dying = start_with("dies");
  speaking.heard->on_body = [&](std::string_view) { return dying.handle->cut(), true; };
  REQUIRE(drive(runtime, &server, [&] { return server.requests() == 5; }));

  server.step();
  REQUIRE(server.wait([&] { return server.served() == 1; }));
  REQUIRE(drive(runtime, &server, [&] { return dying.heard->ends == 1; }));
  CHECK(dying.heard->end.code == Errc::cancelled);
  speaking.handle->cut();
  CHECK(runtime.run_until_idle());
  CHECK(server.wait([&] { return server.closed() == 1; }));
  CHECK(server.accepted() == 3);
  CHECK(server.requests() == 5);
}

TEST_CASE("a cut never touches a transfer that was not cut", "[net][race]") {
  SocketServer server(answer_all);
  const std::size_t pool_size = GENERATE(as<std::size_t>(), detail::net::ConnectionPools::usual_size, 1);
  Runtime runtime;
  use_pools_of(pool_size, runtime);
  constexpr int rounds = 400;
  constexpr int width = 4;  // transfers at a time, on kept connections

  // The cutter's side: cuts of finished and of running transfers, in random order.
  std::mutex mutex;
  std::vector<std::shared_ptr<detail::net::CallHandle>> targets;
  std::atomic<bool> stopping = false;
  const auto cut_at_random = [&](unsigned seed) {
    std::minstd_rand random(seed);
    while (!stopping) {
      std::shared_ptr<detail::net::CallHandle> cut;
      {
        const std::lock_guard lock(mutex);
        if (!targets.empty()) {
          std::swap(targets[random() % targets.size()], targets.back());
          cut = std::move(targets.back());
          targets.pop_back();
        }
      }
      if (cut != nullptr) cut->cut();
      std::this_thread::yield();
    }
  };
  // Descriptor numbers are reused on purpose: a stray shutdown would end one of these pairs.
  std::atomic<int> strays = 0;
  const auto reuse_numbers = [&] {
    while (!stopping) {
      int pair[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) continue;
      std::this_thread::yield();
      char byte = 'x';
      if (::send(pair[0], &byte, 1, MSG_NOSIGNAL) != 1 || ::recv(pair[1], &byte, 1, 0) != 1 || byte != 'x')
        ++strays;
      ::close(pair[0]);
      ::close(pair[1]);
    }
  };
  std::vector<std::thread> threads;
  threads.emplace_back(cut_at_random, 1U);
  threads.emplace_back(cut_at_random, 2U);
  threads.emplace_back(reuse_numbers);

  int completed = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Call> calls;
    for (int i = 0; i < width; ++i) calls.push_back(start(runtime, request_to(server.url())));
    {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < calls.size(); i += 2) targets.push_back(calls[i].handle);
    }
    const auto done = [](const Call& call) { return call.heard->ends == 1; };
    if (!drive(runtime, &server, [&] { return std::all_of(calls.begin(), calls.end(), done); })) break;
    for (const Call& call : calls) {
      const Errc code = call.heard->end.code;
      CHECK(call.heard->after_end == 0);
      if (code == Errc::cancelled)
        CHECK(call.handle->is_cut());
      else
        REQUIRE(code == Errc::none);
    }
    for (std::size_t i = 1; i < calls.size(); i += 2) {
      CHECK_FALSE(calls[i].handle->is_cut());
      completed += calls[i].heard->end.code == Errc::none ? 1 : 0;
    }
  }
  stopping = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(completed == rounds * width / 2);
  CHECK(strays == 0);
  CHECK(server.requests() > server.accepted());  // connections were indeed used again
}
