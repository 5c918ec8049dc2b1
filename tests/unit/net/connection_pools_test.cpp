#include "net/connection_pools.hpp"

#include "loop/engine.hpp"
#include "net/curl_library.hpp"
#include "support/catch.hpp"

#include <agentcore/runtime.hpp>

#include <sys/socket.h>

using namespace agentcore;
using namespace agentcore::detail::net;

namespace {

struct Fixture : detail::loop::IoHandler {
  void on_io(int, detail::loop::IoEvents) override {}

  ConnectionPool& enter() {
    ConnectionPool& pool = pools.choose();
    pool.enter();
    return pool;
  }
  // A connection that the pool keeps.
  int keep(const ConnectionPool& pool) {
    const int socket = sockets.open(pool.number(), AF_INET, SOCK_STREAM, 0);
    sockets.unwant(socket);
    sockets.settle_idle(8);
    return socket;
  }

  CurlLibrary library;
  Runtime runtime;
  SocketTable sockets{*detail::loop::engine_of(runtime), *this};
  ConnectionPools pools{*detail::loop::engine_of(runtime), sockets, 8, 2};
};

}  // namespace

TEST_CASE("a connection pool is used until it is full", "[net]") {
  Fixture f;
  ConnectionPool& first = f.enter();
  CHECK(&f.enter() == &first);
  ConnectionPool& second = f.enter();
  CHECK(&second != &first);
  first.leave(nullptr);
  CHECK(&f.enter() == &first);
  CHECK(&f.enter() == &second);
  CHECK(&f.enter() != &second);
}

TEST_CASE("a transfer enters the connection pool that keeps a connection for it", "[net]") {
  Fixture f;
  ConnectionPool& first = f.enter();
  f.enter();
  ConnectionPool& second = f.enter();
  const int socket = f.keep(second);
  first.leave(nullptr);
  SECTION("if it has room") {
    CHECK(&f.pools.choose() == &second);
    REQUIRE(second.kept().expect_reuse());
    CHECK(&f.pools.choose() == &first);  // the connection has its next user
    second.kept().reuse_decided();
    CHECK(&f.pools.choose() == &second);
  }
  SECTION("not if it is full") {
    second.enter();
    CHECK(&f.pools.choose() == &first);
  }
  f.sockets.close(socket);
}

TEST_CASE("a connection pool is closed when nothing needs it", "[net][G13]") {
  Fixture f;
  ConnectionPool& first = f.enter();
  f.enter();
  ConnectionPool& second = f.enter();
  for (ConnectionPool* pool : {&first, &second}) REQUIRE(pool->multi().open());
  const auto leave = [&](ConnectionPool& pool) {
    pool.leave(nullptr);
    f.pools.close_unneeded();
  };
  SECTION("neither a transfer nor a connection") {
    leave(first);
    CHECK(second.multi().is_open());  // it has a transfer
    const int socket = f.keep(second);
    leave(second);
    CHECK(second.multi().is_open());  // it keeps a connection
    f.sockets.close(socket);
    f.pools.close_unneeded();
    CHECK_FALSE(second.multi().is_open());
    leave(first);
    CHECK(first.multi().is_open());  // the next transfer will use it
  }
  SECTION("not while the one before is more than half full") {
    leave(second);
    CHECK(second.multi().is_open());
    leave(first);
    CHECK_FALSE(second.multi().is_open());
  }
}
