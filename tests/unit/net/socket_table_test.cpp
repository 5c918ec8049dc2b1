#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/curl_transport.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"

#include <agentcore/runtime.hpp>

#include <algorithm>
#include <array>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::detail::net;
using detail::loop::IoEvents;

namespace {

struct Table : detail::loop::IoHandler {
  Table() { sockets.counts().add_pool(); }
  void on_io(int, IoEvents) override {}

  std::shared_ptr<CallHandle> owner() { return CallHandle::make(*detail::loop::engine_of(runtime)); }
  static bool has_claim(CallHandle& cut, int descriptor) {
    const auto& claimed = cut.sockets().claimed();
    return std::find(claimed.begin(), claimed.end(), descriptor) != claimed.end();
  }
  static bool has_claims(CallHandle& cut) { return cut.sockets().claimed() != std::array<int, 2>{-1, -1}; }
  static bool has_ended(int descriptor) {
    char byte = 0;
    return ::recv(descriptor, &byte, 1, MSG_DONTWAIT) == 0;
  }

  // A new socket, connected to `other`; the caller closes `other`.
  int connected(int& other) {
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener, any, size) == 0);
    REQUIRE(::listen(listener, 1) == 0);
    REQUIRE(::getsockname(listener, any, &size) == 0);
    const int socket = sockets.open(0, AF_INET, SOCK_STREAM, 0);
    REQUIRE(::connect(socket, any, size) == 0);
    other = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    ::close(listener);
    return socket;
  }

  Runtime runtime;
  SocketTable sockets{*detail::loop::engine_of(runtime), *this};
};

}  // namespace

TEST_CASE("a socket is claimed for the transfer that waits for it until it is kept", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK_FALSE(Table::has_claims(*cut));
  CHECK(table.sockets.want(0, socket, IoEvents::writable, cut));
  CHECK(Table::has_claims(*cut));
  table.sockets.connected(cut->sockets(), false);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, cut));
  CHECK(Table::has_claim(*cut, socket));
  CHECK(table.sockets.counts().idle() == 0);
  table.sockets.unwant(socket);
  CHECK_FALSE(Table::has_claims(*cut));
  CHECK(table.sockets.counts().idle() == 1);
  table.sockets.close(socket);
  CHECK(table.sockets.counts().idle() == 0);
}

TEST_CASE("a socket is released before another transfer claims it", "[net][G6]") {
  Table table;
  const auto first = table.owner();
  const auto second = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, first));
  table.sockets.connected(first->sockets(), false);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, second));
  CHECK_FALSE(Table::has_claims(*first));
  CHECK(Table::has_claim(*second, socket));
  table.sockets.close(socket);
}

TEST_CASE("a socket is released before it is closed", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, cut));
  table.sockets.close(socket);
  CHECK_FALSE(Table::has_claims(*cut));
}

TEST_CASE("a socket that libcurl closes before it is connected is forgotten", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(0, socket, IoEvents::writable, cut));
  CHECK(table.sockets.counts().in(0, SocketUse::busy) == 1);
  const std::size_t with_socket_and_twin = test::open_descriptors();
  SECTION("before libcurl stops waiting") {
    ::close(socket);
    table.sockets.unwant(socket);
  }
  SECTION("after libcurl stopped waiting") {
    table.sockets.unwant(socket);
    ::close(socket);
    table.sockets.settle_idle(10);
  }
  SECTION("while another connection of the transfer is made") {
    ::close(socket);
    table.sockets.connected(cut->sockets(), false);
  }
  CHECK_FALSE(Table::has_claims(*cut));
  CHECK(table.sockets.counts().in(0, SocketUse::busy) == 0);
  CHECK(table.sockets.counts().idle() == 0);
  CHECK(test::open_descriptors() == with_socket_and_twin - 2);
}

TEST_CASE("a stop never reaches the next owner of a number that libcurl closed", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(0, socket, IoEvents::writable, cut));
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  REQUIRE(::dup2(pair[0], socket) == socket);  // libcurl closed it, and another thread opened this
  cut->cut();
  table.sockets.hang_up(cut->sockets());
  CHECK_FALSE(Table::has_ended(pair[1]));
  table.sockets.unwant(socket);
  table.sockets.settle_idle(0);
  CHECK_FALSE(Table::has_ended(pair[1]));
  CHECK(table.sockets.counts().in(0, SocketUse::busy) + table.sockets.counts().idle() == 0);
  for (const int descriptor : {pair[0], pair[1], socket}) ::close(descriptor);
}

TEST_CASE("a socket that is open after its transfer has ended is kept", "[net]") {
  Table table;
  const auto cut = table.owner();
  int other = -1;
  const int socket = table.connected(other);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, cut));
  table.sockets.unwant(socket);
  CHECK(table.sockets.counts().idle() == 0);
  table.sockets.settle_idle(10);
  CHECK(table.sockets.counts().idle() == 1);
  CHECK_FALSE(Table::has_ended(other));
  table.sockets.close(socket);
  CHECK(Table::has_ended(other));  // no second descriptor keeps the connection open
  ::close(other);
}

TEST_CASE("a new socket has nothing of the closed one whose number it got", "[net][G6]") {
  Table table;
  const auto first = table.owner();
  const auto second = table.owner();
  const int socket = table.sockets.open(0, AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(0, socket, IoEvents::writable, first));
  table.sockets.connected(first->sockets(), false);
  table.sockets.unwant(socket);
  table.sockets.close(socket);
  REQUIRE(table.sockets.open(0, AF_INET, SOCK_STREAM, 0) == socket);
  second->cut();
  CHECK(table.sockets.want(0, socket, IoEvents::writable, second));
  table.sockets.settle_idle(10);
  CHECK(table.sockets.counts().in(0, SocketUse::busy) == 1);
  CHECK(table.sockets.counts().idle() == 0);
  table.sockets.close(socket);
}

// A transfer on a kept connection may have its whole answer before libcurl waits for the socket, and then
// libcurl does not report that the transfer is done with it.
TEST_CASE("an idle socket is not claimed for a transfer that libcurl does not wait for", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int other = -1;
  const int socket = table.connected(other);
  CHECK(table.sockets.want(0, socket, IoEvents::readable, nullptr));
  table.sockets.connected(cut->sockets(), true);
  table.sockets.unwant(socket);
  table.sockets.settle_idle(10);
  REQUIRE(table.sockets.counts().idle() == 1);
  table.sockets.claim(socket, cut, {});
  CHECK_FALSE(Table::has_claims(*cut));
  CHECK(table.sockets.want(0, socket, IoEvents::readable, nullptr));
  table.sockets.claim(socket, cut, {});
  CHECK(Table::has_claims(*cut));
  table.sockets.close(socket);
  ::close(other);
}

TEST_CASE("a descriptor of the host is watched but never shut down", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  CHECK(table.sockets.want(0, pair[0], IoEvents::readable, cut));
  CHECK_FALSE(Table::has_claim(*cut, pair[0]));
  cut->cut();
  table.sockets.hang_up(cut->sockets());
  char byte = 0;
  CHECK(::recv(pair[1], &byte, 1, MSG_DONTWAIT) == -1);  // nothing there, and no end either
  CHECK(table.sockets.unwatch_if_over(pair[0]));
  table.sockets.unwant(pair[0]);
  CHECK(table.sockets.counts().idle() == 0);
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_CASE("the connection of a transfer that ends early is shut down at once", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int other = -1;
  const int socket = table.connected(other);
  REQUIRE(table.sockets.want(0, socket, IoEvents::readable, cut));
  SECTION("before its request") {
  }
  SECTION("after its request") {
    table.sockets.connected(cut->sockets(), false);
  }
  REQUIRE_FALSE(Table::has_ended(other));
  table.sockets.hang_up(cut->sockets());
  CHECK(Table::has_ended(other));
  table.sockets.close(socket);
  ::close(other);
}

TEST_CASE("a stop shuts down a socket that is not connected by libcurl yet", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int other = -1;
  const int socket = table.connected(other);
  REQUIRE(table.sockets.want(0, socket, IoEvents::writable, cut));
  cut->cut();
  CHECK(Table::has_ended(other));
  table.sockets.connected(cut->sockets(), false);
  table.sockets.close(socket);
  ::close(other);
}

TEST_CASE("a connection that is made after its stop is shut down", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int other = -1;
  const int socket = table.connected(other);
  cut->cut();
  CHECK(table.sockets.want(0, socket, IoEvents::writable, cut));
  CHECK(Table::has_ended(other));
  table.sockets.close(socket);
  ::close(other);
}
