// The timer of the system behind Runtime::poll_descriptor().
#include "platform/posix/descriptor_timer.hpp"

#include "support/catch.hpp"
#include "support/drive/loop_fixture.hpp"

#include <agentcore/clock.hpp>

#include <sys/timerfd.h>

using namespace agentcore;
using namespace loop_test;
using detail::platform::DescriptorTimer;

namespace {

// How long until the timer fires; 0: it does not.
Duration time_left(const DescriptorTimer& timer) {
  itimerspec setting{};
  REQUIRE(::timerfd_gettime(timer.descriptor(), &setting) == 0);
  return std::chrono::seconds(setting.it_value.tv_sec) + Duration(setting.it_value.tv_nsec);
}

}  // namespace

TEST_CASE("a timer is set anew only for an earlier time, or when its time has come", "[loop][timerfd]") {
  const SystemClock clock;
  DescriptorTimer timer;
  REQUIRE(timer.open());
  const TimePoint now = clock.now();
  CHECK(time_left(timer) == 0ns);
  timer.arm(now + 2h, now);
  CHECK(time_left(timer) > 1h);
  timer.arm(now + 3h, now);
  CHECK(time_left(timer) <= 2h);
  timer.arm(now + 1h, now);
  CHECK(time_left(timer) <= 1h);
  timer.arm(now + 3h, now + 1h);  // as if the first hour had passed
  CHECK(time_left(timer) > 2h);
  timer.note_fired();
  timer.arm(now + 4h, now);
  CHECK(time_left(timer) > 3h);
  CHECK_FALSE(readable(timer.descriptor()));
}

TEST_CASE("a timer whose time has passed fires at once and one for the end of time never does",
          "[loop][timerfd]") {
  const SystemClock clock;
  DescriptorTimer timer;
  REQUIRE(timer.open());
  timer.arm(TimePoint(), clock.now());  // the time 0, which must not disarm it
  wait_readable(timer.descriptor());
  timer.note_fired();
  timer.arm(TimePoint::max(), clock.now());
  CHECK_FALSE(readable(timer.descriptor()));
  CHECK(time_left(timer) > 1h);
}
