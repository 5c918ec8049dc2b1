// Mutexes know what their thread holds.
#include "core/mutex.hpp"

#include "support/catch.hpp"

#include <string>
#include <thread>

using namespace agentcore::detail::core;

#ifndef NDEBUG
TEST_CASE("a thread knows whether it holds a mutex of ours", "[core][mutex]") {
  Mutex outer{LockRank::verbs}, leaf;
  SharedMutex shared;
  CHECK(holds_no_mutex());
  {
    const Lock lock(outer);
    CHECK_FALSE(holds_no_mutex());
    {
      const InnerLock inner(leaf);
      std::thread([] { CHECK(holds_no_mutex()); }).join();
    }
    CHECK_FALSE(holds_no_mutex());
  }
  CHECK(holds_no_mutex());
  {
    const ReadLock lock(shared);
    CHECK_FALSE(holds_no_mutex());
  }
  {
    const WriteLock lock(shared);
    CHECK_FALSE(holds_no_mutex());
  }
  CHECK(holds_no_mutex());
}
#endif

TEST_CASE("a wait for a condition lets another thread take the mutex", "[core][mutex]") {
  Mutex mutex;
  Condition changed;
  std::string text;
  std::thread writer([&] {
    const Lock lock(mutex);
    text = "written";
    changed.notify_all();
  });
  {
    const Lock lock(mutex);
    while (text.empty()) changed.wait(mutex);
    CHECK(text == "written");
  }
  writer.join();
}
