// Compressed answers: what is offered, what is decoded, and what a small answer may become.
#include "loop/engine.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/sanitized.hpp"
#include "support/wire/gzip.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

using namespace agentcore;
using namespace agentcore::test;

namespace {

std::string coded(std::string_view coding, std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Encoding: " + std::string(coding) +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// Asks once, and gives back what came of it.
std::shared_ptr<Heard> ask(std::string reply, bool compressed = true, std::string* seen = nullptr) {
  SocketServer server([&](Peer& peer) {
    const std::string request = peer.read_request();
    if (seen != nullptr) *seen = request;
    peer.write(reply);
  });
  Runtime runtime;
  auto request = request_to(server.url());
  request.compressed = compressed;
  const Call call = start(runtime, std::move(request));
  REQUIRE(drive(runtime, &server, [&] { return call.heard->ends == 1; }));
  return call.heard;
}

// Reads a bomb without keeping it.
struct Counter {
  std::size_t bytes = 0;
  std::size_t largest = 0;  // piece
  int ends = 0;
  detail::net::HttpEnd end;
};

class CountingHandler final : public detail::net::HttpHandler {
 public:
  explicit CountingHandler(std::shared_ptr<Counter> counter) : counter_(std::move(counter)) {}
  void on_head(const detail::net::HttpHead&) override {}
  bool on_body(std::string_view bytes) override {
    counter_->bytes += bytes.size();
    counter_->largest = std::max(counter_->largest, bytes.size());
    return true;
  }
  void on_end(detail::net::HttpEnd end) override {
    ++counter_->ends;
    counter_->end = std::move(end);
  }

 private:
  std::shared_ptr<Counter> counter_;
};

void serve_bomb(Peer& peer) {
  peer.read_request();
  const Bomb bomb = gzip_bomb();
  std::string piece;
  for (int i = 0; i < 1000; ++i) piece += bomb.repeat;  // 2 MB
  peer.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + bomb.head);
  for (int i = 0; i < 600 && peer.write(piece); ++i) {
  }
  peer.wait_close();
}

std::shared_ptr<Counter> take_bomb(Runtime& runtime, SocketServer& server, std::size_t limit,
                                   const std::function<bool(const Counter&)>& done) {
  auto counter = std::make_shared<Counter>();
  auto request = request_to(server.url());
  request.compressed = true;
  request.max_response_bytes = limit;
  const auto handle = detail::net::CallHandle::make(*detail::loop::engine_of(runtime));
  detail::net::Transport::of(*detail::loop::engine_of(runtime))
      ->start(std::move(request), handle, std::make_unique<CountingHandler>(counter));
  REQUIRE(drive(runtime, &server, [&] { return counter->ends == 1 || done(*counter); }));
  handle->cut();
  REQUIRE(drive(runtime, &server, [&] { return counter->ends == 1; }));
  CHECK(server.wait([&] { return server.closed() == 1; }));
  return counter;
}

// The most memory that this process ever had, in bytes.
std::size_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    std::size_t kilobytes = 0;
    if (fields >> name >> kilobytes && name == "VmHWM:") return kilobytes << 10;
  }
  return 0;
}

}  // namespace

TEST_CASE("gzip and deflate are offered only if compression is enabled", "[net]") {
  std::string seen;
  ask(answer("hello"), true, &seen);
  CHECK(seen.find("\r\nAccept-Encoding: gzip, deflate\r\n") != std::string::npos);
  ask(answer("hello"), false, &seen);
  CHECK(seen.find("\r\nAccept-Encoding: identity\r\n") != std::string::npos);
}

TEST_CASE("a compressed answer is decoded even if compression was not offered", "[net][O5]") {
  const bool offered = GENERATE(true, false);
  for (const char* coding : {"gzip", "x-gzip", "GZip", " gzip, identity"}) {
    const auto heard = ask(coded(coding, gzip("hello")), offered);
    CHECK(heard->end.code == Errc::none);
    CHECK(heard->body == "hello");
  }
  CHECK(ask(coded("deflate", deflate("hello")), offered)->body == "hello");
  CHECK(ask(coded("identity", "hello"), offered)->body == "hello");
  CHECK(ask(coded("gzip, deflate", deflate(gzip("hello"))), offered)->body == "hello");
}

TEST_CASE("a coding that was not offered is refused before it is decoded", "[net][G15]") {
  for (const char* coding : {"zstd", "br", "compress", "gzip, zstd", "x", "gzip gzip"}) {
    const auto heard = ask(coded(coding, "hello"));
    CHECK(heard->end.code == Errc::invalid_response);
    CHECK(!heard->end.message.empty());
    CHECK(heard->end.status == 200);
    CHECK(heard->heads == 0);
    CHECK(heard->body.empty());
  }
  const auto heard = ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: zstd, chunked\r\n\r\n0\r\n\r\n");
  CHECK(heard->end.code == Errc::invalid_response);
}

TEST_CASE("a body that is not compressed as declared is an invalid response", "[net]") {
  std::string broken = gzip("hello");
  SECTION("garbage") {
    broken = "this is not gzip at all";
  }
  SECTION("a wrong check sum") {
    broken[broken.size() - 8] ^= 1;
  }
  SECTION("a wrong block") {
    broken[10] = '\x07';
  }
  SECTION("more than there is") {
    broken += "and more, which belongs to nothing";
  }
  const auto heard = ask(coded("gzip", broken));
  CHECK(heard->end.code == Errc::invalid_response);
  CHECK(heard->end.message.find("127.0.0.1:") != std::string::npos);
}

TEST_CASE("a compressed answer that is cut short is an error", "[net]") {
  const std::string reply = coded("gzip", gzip("hello"));
  const auto heard = ask(reply.substr(0, reply.size() - 10));
  CHECK(heard->end.code == Errc::network_error);
}

TEST_CASE("the size limit of an answer counts decoded bytes", "[net][G15]") {
  SocketServer server(serve_bomb);
  Runtime runtime;
  const auto counter = take_bomb(runtime, server, 1 << 20, [](const Counter&) { return false; });
  CHECK(counter->end.code == Errc::response_too_large);
  CHECK(counter->bytes <= 1U << 20U);
  CHECK(counter->bytes > (1U << 20U) - (64U << 10U));
  CHECK(runtime.run_until_idle());
}

// A gigabyte goes by; what is decoded at a time is small, whatever the limit allows.
TEST_CASE("a compressed answer is decoded piece by piece", "[net][G15]") {
#ifdef SANITIZED
  constexpr std::size_t whole = std::size_t{64} << 20;
#else
  constexpr std::size_t whole = std::size_t{1} << 30;
#endif
  SocketServer server(serve_bomb);
  Runtime runtime;
  const std::size_t before = peak_memory();
  const auto counter = take_bomb(runtime, server, std::size_t{1} << 40,
                                 [&](const Counter& now) { return now.bytes >= whole; });
  CHECK(counter->bytes >= whole);
  CHECK(counter->largest <= 64U << 10U);
  CHECK(peak_memory() < before + (std::size_t{32} << 20));
  CHECK(counter->end.code == Errc::cancelled);
}
