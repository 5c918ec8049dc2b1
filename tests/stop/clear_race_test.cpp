// An interrupt that drops what waits, from another thread, at each allocation of a poll that begins a turn.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/agentcore.hpp>

#include <array>
#include <atomic>
#include <thread>

using namespace agentcore;
using agentcore::test::at_next_allocation;
using agentcore::test::FakeClient;

namespace {

// Lets the other thread go on at an allocation, and waits for it: for a bounded number of yields, because
// this thread may hold a mutex for which the other one waits.
struct Meeting {
  int number = 1;  // of the allocation, from 1
  std::atomic<bool> reached{false};
  std::atomic<bool> over{false};

  static void allocate(void* self) {
    Meeting& meeting = *static_cast<Meeting*>(self);
    if (--meeting.number > 0) return at_next_allocation(&Meeting::allocate, self);
    meeting.reached = true;
    for (int i = 0; i < 20'000 && !meeting.over; ++i) std::this_thread::yield();
  }
};

}  // namespace

TEST_CASE("no turn begins with a message that an interrupt has dropped", "[stop][race][queue]") {
#ifdef RACES_WATCHED
  return;  // its allocator calls nothing back
#endif
  int reached = 0;
  for (int number = 1; number <= 60; ++number) {
    INFO("allocation " << number);
    FakeClient client;  // it never answers
    Runtime runtime;
    AgentTree tree(runtime, {.llm = &client});
    const Agent agent = tree.create().value();
    std::array<int, 3> ends{};
    for (int& count : ends) REQUIRE(agent.send("x", {.on_end = [&count](const MessageEnd&) { ++count; }}));
    Meeting meeting{number};
    std::atomic<bool> polled{false};
    VerbResult result;
    std::jthread other([&] {
      while (!meeting.reached && !polled) std::this_thread::yield();
      result = agent.interrupt({.queue = QueueAction::drop});
      meeting.over = true;
    });
    at_next_allocation(&Meeting::allocate, &meeting);
    runtime.poll();
    at_next_allocation(nullptr, nullptr);
    polled = true;
    other.join();
    reached += meeting.reached ? 1 : 0;
    for (int i = 0; i < 40 && tree.busy(); ++i) runtime.poll();
    CHECK(result.accepted());
    CHECK_FALSE(agent.busy());
    CHECK(agent.queue_length().value() == 0);
    CHECK(ends == std::array<int, 3>{1, 1, 1});
  }
  CHECK(reached > 5);
}
