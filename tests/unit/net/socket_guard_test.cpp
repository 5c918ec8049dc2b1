#include "net/socket_guard.hpp"

#include "support/catch.hpp"

#include <array>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

using agentcore::detail::net::SocketGuard;

namespace {

// Two connected sockets; the second shows whether the first was shut down.
class Pair {
 public:
  Pair() { ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends_.data()); }
  ~Pair() {
    for (const int end : ends_) ::close(end);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  int socket() const { return ends_[0]; }
  bool is_shut() const {
    char byte = 0;
    return ::recv(ends_[1], &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace

TEST_CASE("a socket guard shuts down its socket once", "[net][G6]") {
  const Pair a, b;
  SocketGuard guard;
  CHECK(guard.claim(a.socket()));
  CHECK(guard.claim(b.socket()));
  CHECK_FALSE(guard.is_shut());
  CHECK(guard.shut());
  CHECK_FALSE(guard.shut());
  CHECK(guard.is_shut());
  CHECK(a.is_shut());
  CHECK(b.is_shut());
}

TEST_CASE("a socket guard does not shut down a released socket", "[net][G6]") {
  const Pair a, b;
  SocketGuard guard;
  guard.claim(a.socket());
  guard.release(a.socket());
  guard.claim(b.socket());
  guard.claim(b.socket());
  guard.release(b.socket());
  guard.shut();
  CHECK_FALSE(a.is_shut());
  CHECK_FALSE(b.is_shut());
}

TEST_CASE("a claim after the shut shuts down", "[net][G6]") {
  const Pair a;
  SocketGuard guard;
  guard.shut();
  CHECK_FALSE(guard.claim(a.socket()));
  CHECK(a.is_shut());
}

TEST_CASE("a third socket is not claimed and changes nothing", "[net]") {
  const Pair a, b, c;
  SocketGuard guard;
  for (const Pair* pair : {&a, &b, &c}) CHECK(guard.claim(pair->socket()));
  guard.release(c.socket());
  guard.shut();
  CHECK(a.is_shut());
  CHECK(b.is_shut());
  CHECK_FALSE(c.is_shut());
}

TEST_CASE("a shutdown never affects a descriptor number after its release", "[net][race]") {
  for (int round = 0; round < 5000; ++round) {
    SocketGuard guard;
    auto first = std::make_unique<Pair>();
    guard.claim(first->socket());
    std::thread stopper([&guard] { guard.shut(); });
    guard.release(first->socket());
    first.reset();
    const Pair reused;  // has the numbers of the first
    stopper.join();
    REQUIRE_FALSE(reused.is_shut());
  }
}
