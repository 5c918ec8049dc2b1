#include "net/deadlines.hpp"

#include "support/catch.hpp"

using namespace agentcore;
using namespace std::chrono_literals;
using agentcore::net::Deadlines;

TEST_CASE("each phase has its own timeout, counted from its last sign of life", "[net][G5]") {
  const TimePoint start{100s};
  Deadlines deadlines(10s, 60s, 30s);
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

TEST_CASE("a timeout without end never comes due", "[net]") {
  Deadlines deadlines(Duration::max(), 1s, 1s);
  deadlines.connecting(TimePoint{100s});
  CHECK(deadlines.due() == TimePoint::max());
}
