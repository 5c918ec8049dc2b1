#include "net/deadlines.hpp"

#include "support/catch.hpp"

#include <agentcore/testing/manual_clock.hpp>

using namespace agentcore;
using namespace std::chrono_literals;
using agentcore::detail::net::Deadlines;

namespace {

constexpr Duration never = Duration::max();

}  // namespace

TEST_CASE("each phase has its own timeout that counts from the last byte", "[net][G5]") {
  const TimePoint start{100s};
  Deadlines deadlines({10s, 60s, 30s}, start);
  deadlines.connecting(start);
  CHECK(deadlines.due() == start + 10s);
  CHECK(deadlines.code() == Errc::connect_timeout);
  CHECK(deadlines.request_sent(start + 1s));
  CHECK(deadlines.due() == start + 61s);
  CHECK(deadlines.code() == Errc::first_byte_timeout);
  CHECK(deadlines.data_received(start + 5s));
  CHECK(deadlines.due() == start + 35s);
  CHECK(deadlines.code() == Errc::stall_timeout);
  CHECK_FALSE(deadlines.data_received(start + 6s));
  CHECK(deadlines.due() == start + 36s);
}

TEST_CASE("the timeout of the whole transfer is not extended by received bytes", "[net][G5][X21]") {
  testing::ManualClock clock;
  Deadlines deadlines({10s, 10s, 10s, 25s}, clock.now());
  CHECK(deadlines.due() == TimePoint(10s));
  clock.advance(9s);
  deadlines.request_sent(clock.now());
  CHECK(deadlines.due() == TimePoint(19s));
  CHECK(deadlines.code() == Errc::first_byte_timeout);
  for (int i = 0; i < 10; ++i) {
    clock.advance(1s);
    deadlines.data_received(clock.now());
  }
  CHECK(deadlines.due() == TimePoint(25s));
  CHECK(deadlines.code() == Errc::total_timeout);
}

TEST_CASE("a new connection restarts the timeouts of the phases but not that of the whole", "[net][G5]") {
  Deadlines deadlines({10s, 60s, 30s, 65s}, TimePoint(0s));
  deadlines.request_sent(TimePoint(5s));
  deadlines.data_received(TimePoint(50s));
  CHECK(deadlines.connecting(TimePoint(51s)));
  CHECK(deadlines.due() == TimePoint(61s));
  CHECK(deadlines.code() == Errc::connect_timeout);
  CHECK(deadlines.request_sent(TimePoint(52s)));
  CHECK(deadlines.due() == TimePoint(65s));
  CHECK(deadlines.code() == Errc::total_timeout);
}

TEST_CASE("the caller's deadline wins when it is earlier or equal", "[net][G5][X21]") {
  const auto code = [](Duration silence, Duration total, TimePoint deadline) {
    return Deadlines({silence, silence, silence, total, deadline}, TimePoint(0s)).code();
  };
  CHECK(code(9s, 9s, TimePoint(8s)) == Errc::deadline_exceeded);
  CHECK(code(9s, 9s, TimePoint(9s)) == Errc::deadline_exceeded);
  CHECK(code(9s, 9s, TimePoint(10s)) == Errc::total_timeout);
  CHECK(code(8s, 9s, TimePoint(10s)) == Errc::connect_timeout);
  CHECK(code(never, 9s, TimePoint::max()) == Errc::total_timeout);
}

TEST_CASE("an unlimited timeout never expires", "[net]") {
  for (const TimePoint start : {TimePoint{}, TimePoint(100s), TimePoint::max() - 1s}) {
    Deadlines deadlines({never, never, never}, start);
    deadlines.connecting(start);
    CHECK(deadlines.due() == TimePoint::max());
  }
}

TEST_CASE("a timeout beyond the largest time point is limited to it and a passed one expires at once",
          "[net]") {
  const TimePoint late = TimePoint::max() - 1s;
  CHECK(Deadlines({2s, 2s, 2s, 2s}, late).due() == TimePoint::max());
  CHECK(Deadlines({never, never, never, Duration::min()}, late).due() == late);
  CHECK(Deadlines({never, never, never, never, TimePoint::min()}, late).due() == TimePoint::min());
}
