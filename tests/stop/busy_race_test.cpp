// Agent::busy() on another thread: no message is overlooked on its way from the mailbox into a turn.
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace agentcore;

TEST_CASE("an agent whose message was not handled yet is busy, seen from another thread",
          "[stop][busy][threads][Q8]") {
  Runtime runtime;
  AgentTree tree(runtime);
  std::atomic<int> handled{0};
  const Agent agent =
      tree.create({.id = "a", .handler = [&](const Agent&, const Message&) { ++handled; }}).value();
  std::atomic<bool> done{false};
  int overlooked = 0;
  std::thread other([&] {
    for (int sent = 1; sent <= 20'000; ++sent) {
      if (!agent.send("x")) break;
      while (agent.busy()) continue;
      if (handled.load() != sent) ++overlooked;
    }
    done = true;
    runtime.post([] {});
  });
  while (!done) runtime.run_for(std::chrono::milliseconds(1));
  other.join();
  CHECK(handled == 20'000);
  CHECK(overlooked == 0);
}
