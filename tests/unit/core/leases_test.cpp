// A lease is renewed or has run out, and all threads agree which.
#include "core/leases.hpp"

#include "support/catch.hpp"

#include <functional>
#include <utility>

using namespace agentcore;
using namespace agentcore::detail::core;
using namespace std::chrono_literals;

namespace {

// A clock that lets another thread act while one reads the time.
class BusyClock final : public Clock {
 public:
  TimePoint now() const noexcept override {
    if (const auto act = std::exchange(during_read, nullptr)) act();
    return time;
  }

  TimePoint time{};
  mutable std::function<void()> during_read;
};

struct Leased {
  BusyClock clock;
  Leases leases;
  Lease lease{leases, 1, clock, 10s, nullptr};
};

}  // namespace

TEST_CASE("a renewal is not refused when another thread renewed the lease meanwhile", "[core][lease][race]") {
  Leased t;
  t.clock.time += 9s;
  t.clock.during_read = [&] {
    CHECK(t.lease.renew());  // at 9 s: until 19 s
    t.clock.time += 2s;
  };
  CHECK(t.lease.renew());  // it has read the end at 10 s, and then the time 11 s
  CHECK(t.lease.until() == TimePoint(21s));
  CHECK_FALSE(t.lease.is_over());
}

TEST_CASE("a lease has not run out when another thread renewed it meanwhile", "[core][lease][race]") {
  Leased t;
  t.clock.time += 9s;
  t.clock.during_read = [&] {
    CHECK(t.lease.renew());
    t.clock.time += 2s;
  };
  CHECK_FALSE(t.lease.is_over());
  CHECK(t.lease.until() == TimePoint(19s));
}

TEST_CASE("a renewal that comes too late ends the lease for all threads", "[core][lease][race]") {
  Leased t;
  t.clock.time += 10s;
  CHECK_FALSE(t.lease.renew());
  CHECK_FALSE(t.lease.until());
  CHECK(t.lease.is_over());
  t.lease.reopen();
  CHECK(t.lease.renew());
}
