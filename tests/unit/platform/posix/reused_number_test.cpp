#include "platform/poller.hpp"
#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <unistd.h>

using namespace loop_test;
using agentcore::detail::platform::IoEvents;
using agentcore::detail::platform::Ready;

TEST_CASE("a descriptor number that was closed and reopened can be watched again", "[loop][poller]") {
  const auto poller = make_poller(EACH_BACKEND());
  const Pipe one, two;
  Handler first, second;
  std::vector<Ready> ready;
  const int number = ::dup(one.read_end());
  REQUIRE(poller->add(number, IoEvents::readable, first));
  REQUIRE(::dup2(two.read_end(), number) == number);
  REQUIRE(poller->add(number, IoEvents::readable, second));
  REQUIRE(two.write());
  poller->wait(std::nullopt, ready);
  REQUIRE(ready.size() == 1);
  CHECK(poller->deliver(ready[0]).handler == &second);
  poller->remove(number);
  ::close(number);
}
