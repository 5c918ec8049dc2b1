// A loop that has nothing to do sleeps: it is counted how often it wakes up.
#include "loops/driven.hpp"
#include "support/catch.hpp"

using namespace agentcore;
using namespace loops_test;

namespace {

constexpr auto idle_time = 50ms;
constexpr int few =
    8;  // some libraries wake up once or twice for themselves; one that spins, ten thousand times

}  // namespace

TEST_CASE("an idle agentcore does not wake the host's loop", "[loops][idle][Q2]") {
  Driven driven;
  const Timer later = driven.runtime->call_after(1h, [] {});
  CHECK(driven.turns_during(idle_time) <= few);
  const Agent agent = driven.stream();
  CHECK(agent.stop().took_effect());
  driven.turn_until([&] { return agent.state().value() == AgentState::stopped; });
  CHECK(driven.turns_during(idle_time) <= few);
}

TEST_CASE("a cancelled timer wakes the host's loop once at most", "[loops][idle][Q2]") {
  Driven driven;
  Timer soon = driven.runtime->call_after(5ms, [] {});
  CHECK(soon.cancel());
  CHECK(driven.turns_during(idle_time) <= few + 1);
}

TEST_CASE("after the end of the Runtime its adapter does not wake the host's loop", "[loops][idle][Q2][Q3]") {
  Driven driven;
  const bool in_callback = GENERATE(true, false);
  const bool with_work = GENERATE(true, false);
  CAPTURE(in_callback, with_work);
  if (with_work) driven.runtime->post([] {});
  if (in_callback) {
    driven.runtime->post([&] { driven.runtime.reset(); });
    driven.turn_until([&] { return !driven.runtime; });
  } else {
    driven.runtime.reset();
  }
  CHECK(driven.turns_during(idle_time) <= few + 1);
}
