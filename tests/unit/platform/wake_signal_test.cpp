#include "platform/wake_signal.hpp"

#include "platform/await_readable.hpp"
#include "support/catch.hpp"
#include "support/drive/pipes.hpp"

#include <chrono>
#include <thread>

using namespace loop_test;
using agentcore::detail::platform::await_readable;
using agentcore::detail::platform::WakeSignal;

TEST_CASE("a wake-up makes its descriptor readable until it is cleared", "[loop][waker]") {
  WakeSignal signal;
  REQUIRE(signal.open());
  CHECK_FALSE(readable(signal.descriptor()));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) signal.set();
    wait_readable(signal.descriptor());
    signal.clear();
    CHECK_FALSE(readable(signal.descriptor()));
  }
}

TEST_CASE("a wake-up that is not read for long stays readable and blocks nobody", "[loop][waker]") {
  WakeSignal signal;
  REQUIRE(signal.open());
  for (int i = 0; i < 10'000; ++i) signal.set();
  CHECK(readable(signal.descriptor()));
  signal.clear();
  CHECK_FALSE(readable(signal.descriptor()));
}

TEST_CASE("a wake-up is open until it is closed, and can be opened again", "[loop][waker]") {
  WakeSignal signal;
  CHECK_FALSE(signal.is_open());
  CHECK(signal.descriptor() == -1);
  for (int round = 0; round < 2; ++round) {
    REQUIRE(signal.open());
    CHECK(signal.is_open());
    signal.close();
    CHECK_FALSE(signal.is_open());
    CHECK(signal.descriptor() == -1);
  }
}

TEST_CASE("a wake-up from another thread ends a wait", "[loop][waker]") {
  WakeSignal signal;
  REQUIRE(signal.open());
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&signal] { signal.set(); });
  await_readable(signal.descriptor(), std::chrono::seconds(60));
  other.join();
  CHECK(readable(signal.descriptor()));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("a wait for no descriptor ends with its time", "[loop][waker]") {
  const auto start = std::chrono::steady_clock::now();
  await_readable(-1, std::chrono::milliseconds(20));
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(15));
}
