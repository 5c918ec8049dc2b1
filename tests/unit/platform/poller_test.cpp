#include "platform/poller.hpp"

#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"

using namespace loop_test;
using agentcore::detail::platform::Delivery;
using agentcore::detail::platform::IoEvents;
using agentcore::detail::platform::Ready;

TEST_CASE("a poller reports a ready descriptor until it is consumed", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
  const Pipe pipe;
  Handler handler;
  std::vector<Ready> ready;
  REQUIRE(poller->add(pipe.read_end(), IoEvents::readable, handler));
  poller->wait(0ns, ready);
  CHECK(ready.empty());
  REQUIRE(pipe.write());
  for (int i = 0; i < 2; ++i) {
    ready.clear();
    poller->wait(std::nullopt, ready);
    REQUIRE(ready.size() == 1);
    CHECK(poller->deliver(ready[0]).handler == &handler);
    CHECK(poller->deliver(ready[0]).events == IoEvents::readable);
  }
  REQUIRE(pipe.read());
  ready.clear();
  poller->wait(0ns, ready);
  CHECK(ready.empty());
}

TEST_CASE("a closed peer is reported as readable", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
  Pipe pipe;
  Handler handler;
  std::vector<Ready> ready;
  REQUIRE(poller->add(pipe.read_end(), IoEvents::readable, handler));
  pipe.close_write_end();
  poller->wait(std::nullopt, ready);
  REQUIRE(ready.size() == 1);
  CHECK(poller->deliver(ready[0]).events == IoEvents::readable);
}

TEST_CASE("the watched events of a descriptor can change to none and back", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
  Pipe pipe;
  Handler handler;
  std::vector<Ready> ready;
  REQUIRE(poller->add(pipe.write_end(), IoEvents::none, handler));
  poller->wait(0ns, ready);
  CHECK(ready.empty());
  REQUIRE(poller->modify(pipe.write_end(), IoEvents::writable));
  poller->wait(0ns, ready);
  REQUIRE(ready.size() == 1);
  REQUIRE(poller->modify(pipe.write_end(), IoEvents::none));
  CHECK(poller->deliver(ready[0]).handler == nullptr);
  ready.clear();
  poller->wait(0ns, ready);
  CHECK(ready.empty());
  poller->remove(pipe.write_end());
  CHECK_FALSE(poller->modify(pipe.write_end(), IoEvents::writable));
}

TEST_CASE("a stale event does not reach the next user of the same number", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
  const Pipe pipe;
  Handler first, second;
  std::vector<Ready> ready;
  REQUIRE(poller->add(pipe.read_end(), IoEvents::readable, first));
  REQUIRE(pipe.write());
  poller->wait(0ns, ready);
  REQUIRE(ready.size() == 1);
  poller->remove(pipe.read_end());
  CHECK(poller->deliver(ready[0]).handler == nullptr);
  REQUIRE(poller->add(pipe.read_end(), IoEvents::readable, second));
  CHECK(poller->deliver(ready[0]).handler == nullptr);
}

TEST_CASE("many descriptors are watched and unwatched", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
#ifdef _WIN32
  constexpr std::size_t count = 30;  // pairs of sockets take long
#else
  constexpr std::size_t count = 300;
#endif
  std::vector<Pipe> pipes(count);
  std::vector<Handler> handlers(count);
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(poller->add(pipes[i].read_end(), IoEvents::readable, handlers[i]));
    REQUIRE(pipes[i].write());
  }
  for (std::size_t i = 0; i < count; i += 3) poller->remove(pipes[i].read_end());
  std::vector<Ready> ready;
  while (poller->wait(0ns, ready)) {  // epoll reports in batches; consume, so that the next has the rest
    for (const Ready& event : ready) poller->remove(event.descriptor);
  }
  std::size_t seen = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (const Ready& event : ready)
      if (event.descriptor == pipes[i].read_end()) {
        ++seen;
        CHECK(i % 3 != 0);
      }
  CHECK(seen == count - count / 3);
}
