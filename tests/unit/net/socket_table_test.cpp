#include "net/socket_table.hpp"

#include "loop/engine.hpp"
#include "net/call_handle.hpp"
#include "net/curl_transport.hpp"
#include "support/catch.hpp"

#include <agentcore/runtime.hpp>

#include <algorithm>

#include <sys/socket.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::net;
using loop::IoEvents;

namespace {

struct Table : loop::IoHandler {
  void on_io(int, IoEvents) override {}

  std::shared_ptr<CallHandle> owner() { return CallHandle::make(*runtime.engine()); }
  static bool has_claim(CallHandle& cut, int descriptor) {
    const auto& claimed = cut.sockets().claimed();
    return std::find(claimed.begin(), claimed.end(), descriptor) != claimed.end();
  }

  Runtime runtime;
  SocketTable sockets{*runtime.engine(), *this};
};

}  // namespace

TEST_CASE("a socket is claimed for the transfer that waits for it until it is kept", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(AF_INET, SOCK_STREAM, 0);
  CHECK_FALSE(Table::has_claim(*cut, socket));
  CHECK(table.sockets.want(socket, IoEvents::writable, cut));
  CHECK(table.sockets.want(socket, IoEvents::readable, cut));
  CHECK(Table::has_claim(*cut, socket));
  CHECK(table.sockets.idle() == 0);
  table.sockets.unwant(socket);
  CHECK_FALSE(Table::has_claim(*cut, socket));
  CHECK(table.sockets.idle() == 1);
  table.sockets.close(socket);
  CHECK(table.sockets.idle() == 0);
}

TEST_CASE("a socket is released before another transfer claims it", "[net][G6]") {
  Table table;
  const auto first = table.owner();
  const auto second = table.owner();
  const int socket = table.sockets.open(AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(socket, IoEvents::readable, first));
  CHECK(table.sockets.want(socket, IoEvents::readable, second));
  CHECK_FALSE(Table::has_claim(*first, socket));
  CHECK(Table::has_claim(*second, socket));
  table.sockets.close(socket);
}

TEST_CASE("a socket is released before it is closed", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(AF_INET, SOCK_STREAM, 0);
  CHECK(table.sockets.want(socket, IoEvents::readable, cut));
  table.sockets.close(socket);
  CHECK_FALSE(Table::has_claim(*cut, socket));
}

TEST_CASE("a descriptor of the host is watched but never shut down", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  CHECK(table.sockets.want(pair[0], IoEvents::readable, cut));
  CHECK_FALSE(Table::has_claim(*cut, pair[0]));
  cut->cut();
  table.sockets.hang_up(cut->sockets());
  char byte = 0;
  CHECK(::recv(pair[1], &byte, 1, MSG_DONTWAIT) == -1);  // nothing there, and no end either
  CHECK(table.sockets.unwatch_if_over(pair[0]));
  table.sockets.unwant(pair[0]);
  CHECK(table.sockets.idle() == 0);
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST_CASE("the connection of a transfer that ends early is shut down at once", "[net][G6]") {
  Table table;
  const auto cut = table.owner();
  const int socket = table.sockets.open(AF_UNIX, SOCK_STREAM, 0);
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  REQUIRE(::dup2(pair[0], socket) == socket);  // connected, under the number that the table knows
  REQUIRE(::close(pair[0]) == 0);
  REQUIRE(table.sockets.want(socket, IoEvents::readable, cut));
  const auto is_over = [&] {
    char byte = 0;
    return ::recv(pair[1], &byte, 1, MSG_DONTWAIT) == 0;
  };
  REQUIRE_FALSE(is_over());
  table.sockets.hang_up(cut->sockets());
  CHECK(is_over());
  table.sockets.close(socket);
  ::close(pair[1]);
}
