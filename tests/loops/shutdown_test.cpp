// The adapter, the Runtime and the loop end in every order, and within callbacks.
#include "loops/driven.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <thread>

using namespace agentcore;
using namespace loops_test;

namespace {

// Ends one of the three: 'a'dapter, 'r'untime, 'l'oop.
void end(Driven& driven, char what) {
  if (what == 'a') driven.host->detach();
  if (what == 'r') driven.runtime.reset();
  if (what == 'l') driven.host->close();
}

// Looks into the loop some times, as long as there is one.
void look(const Driven& driven, const std::string& ended) {
  if (ended.find('l') != std::string::npos) return;
  for (int i = 0; i < 5; ++i) driven.host->look();
}

}  // namespace

TEST_CASE("adapter, Runtime and loop end in every order while an agent streams", "[loops][Q3]") {
  const bool busy = GENERATE(true, false);
  std::string order = "alr";
  do {
    CAPTURE(order, busy);
    Driven driven;
    const Agent agent = driven.stream();
    int late = 0;
    if (busy) driven.runtime->post([&] { ++late; });
    const Timer due = driven.runtime->call_after(0ns, [&] { ++late; });
    std::string ended;
    for (const char what : order) {
      end(driven, what);
      ended += what;
      const int before = late + driven.deltas;
      look(driven, ended);
      CHECK(late + driven.deltas == before);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a Runtime that was never driven ends in every order with its adapter and loop", "[loops][Q3]") {
  std::string order = "alr";
  do {
    CAPTURE(order);
    Driven driven;
    bool called = false;
    std::thread([&] { driven.runtime->post([&] { called = true; }); }).join();
    for (const char what : order) end(driven, what);
    CHECK_FALSE(called);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("adapter, Runtime and tree may be destroyed in a callback, in any order", "[loops][Q3]") {
  std::string order = "art";
  do {
    for (std::size_t count = 1; count <= order.size(); ++count) {
      CAPTURE(order, count);
      Driven driven;
      const Agent agent = driven.stream();
      bool destroyed = false;
      int late = 0;
      driven.runtime->post([&] {
        driven.runtime->post([&] { ++late; });
        for (const char what : order.substr(0, count)) {
          if (what == 't') driven.tree.reset();
          end(driven, what);
        }
        destroyed = true;
      });
      driven.turn_until([&] { return destroyed; });
      const int before = driven.deltas;
      const bool driven_on = order.substr(0, count) == "t";
      for (int i = 0; i < 5; ++i) driven.host->look();
      if (!driven_on) {
        CHECK(late == 0);
        CHECK(driven.deltas == before);
      }
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("a Runtime is attached again after its adapter was destroyed, also in a callback", "[loops][Q3]") {
  Driven driven;
  const bool in_callback = GENERATE(true, false);
  CAPTURE(in_callback);
  bool again = false, called = false;
  const auto attach_again = [&] {
    driven.host->detach();
    driven.host->attach(*driven.runtime);
    again = true;
  };
  if (in_callback) {
    driven.runtime->post(attach_again);
    driven.turn_until([&] { return again; });
  } else {
    attach_again();
  }
  std::thread other([&] { driven.runtime->post([&] { called = true; }); });
  driven.turn_until([&] { return called; });
  other.join();
  CHECK(called);
}

TEST_CASE("an adapter that was detached while work waits does not poll", "[loops][Q3]") {
  Driven driven;
  bool called = false;
  driven.runtime->post([&] { called = true; });
  driven.host->detach();
  bool over = false;
  driven.host->call_after(5ms, [&] { over = true; });
  driven.turn_until([&] { return over; });
  CHECK_FALSE(called);
  driven.host->attach(*driven.runtime);
  driven.turn_until([&] { return called; });
  CHECK(called);
}

TEST_CASE("the loop runs out when the adapter is destroyed, or the Runtime in a callback",
          "[loops][runs_out][Q3]") {
  Driven driven;
  const bool adapter = GENERATE(true, false);
  CAPTURE(adapter);
  bool done = false;
  driven.runtime->post([&] {
    if (adapter)
      driven.host->detach();
    else
      driven.runtime.reset();
    done = true;
  });
  driven.host->run();
  CHECK(done);
}
