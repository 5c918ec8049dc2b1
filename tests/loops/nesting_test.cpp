// The host's loop runs in a callback of agentcore, as that of a modal dialog does. Not for loops that forbid
// it.
#include "loops/driven.hpp"
#include "support/catch.hpp"

using namespace agentcore;
using namespace loops_test;

TEST_CASE("a loop within a callback sleeps, and its own events go on", "[loops][nested][Q2][Q3]") {
  Driven driven;
  int turns = -1, posts = 0;
  driven.runtime->post([&] {
    driven.runtime->post([&] { ++posts; });
    turns = driven.turns_during(50ms);
    CHECK(posts == 0);
  });
  driven.turn_until([&] { return posts == 1; });
  CHECK(turns > 0);
  CHECK(turns <= 8);
  CHECK(driven.turns_during(20ms) <= 8);
}

TEST_CASE("a loop that a callback has the host run later drives the agents", "[loops][nested][Q3]") {
  Driven driven;
  int deltas_in_dialog = 0;
  bool opened = false;
  const auto dialog = [&] {
    const int before = driven.deltas;
    driven.turn_until([&] { return driven.deltas >= before + 3; });
    deltas_in_dialog = driven.deltas - before;
  };
  const Agent agent = driven.stream();
  driven.runtime->post([&] {
    driven.host->call_after(0ms, [&] {
      opened = true;
      dialog();
    });
  });
  driven.turn_until([&] { return deltas_in_dialog > 0; });
  CHECK(opened);
  CHECK(deltas_in_dialog >= 3);
}

TEST_CASE("the adapter, the Runtime or both may be destroyed in a loop within a callback",
          "[loops][nested][Q3]") {
  Driven driven;
  const bool adapter = GENERATE(true, false);
  const bool runtime = GENERATE(true, false);
  CAPTURE(adapter, runtime);
  bool done = false;
  driven.runtime->post([&] {
    bool closed = false;
    driven.host->call_after(0ms, [&] {
      if (adapter) driven.host->detach();
      if (runtime) driven.runtime.reset();
      closed = true;
    });
    driven.turn_until([&] { return closed; });
    driven.host->call_after(0ms, [&] { done = true; });
  });
  driven.turn_until([&] { return done; });
  CHECK(driven.turns_during(10ms) <= 8);
}
