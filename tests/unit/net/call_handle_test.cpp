#include "net/call_handle.hpp"

#include "loop/engine.hpp"
#include "net/curl_transport.hpp"
#include "net/stop_queue.hpp"
#include "support/catch.hpp"
#include "support/drive/unhurried.hpp"

#include <agentcore/runtime.hpp>

#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::detail::net;

TEST_CASE("a cut is queued once and in order and wakes the loop once per batch", "[net][G5]") {
  Runtime runtime{test::unhurried()};
  const auto queue = CurlTransport::of(*detail::loop::engine_of(runtime))->stops();
  runtime.poll();
  int wakes = 0;
  const auto subscription = runtime.on_wake([&] { ++wakes; });
  std::vector<std::shared_ptr<CallHandle>> cuts;
  for (int i = 0; i < 5; ++i) cuts.push_back(CallHandle::make(*detail::loop::engine_of(runtime)));
  for (const auto& cut : cuts) {
    CHECK(cut->cut());
    CHECK_FALSE(cut->cut());
  }
  CHECK(wakes == 1);
  for (const auto& cut : cuts) CHECK(queue->pop() == cut);
  CHECK(queue->pop() == nullptr);
  CHECK(queue->empty());
}

TEST_CASE("a cut may outlive its Runtime whether it was triggered or not", "[net]") {
  std::shared_ptr<CallHandle> early, late;
  {
    Runtime runtime{test::unhurried()};
    early = CallHandle::make(*detail::loop::engine_of(runtime));
    late = CallHandle::make(*detail::loop::engine_of(runtime));
    early->cut();
  }
  CHECK(late->cut());
  CHECK(late->is_cut());
  CHECK(early.use_count() == 1);
  CHECK(late.use_count() == 1);
}

TEST_CASE("cuts from many threads are all queued", "[net][race]") {
  Runtime runtime{test::unhurried()};
  const auto queue = CurlTransport::of(*detail::loop::engine_of(runtime))->stops();
  constexpr std::size_t count = 4000;
  std::vector<std::shared_ptr<CallHandle>> cuts;
  for (std::size_t i = 0; i < count; ++i) cuts.push_back(CallHandle::make(*detail::loop::engine_of(runtime)));
  std::vector<std::thread> threads;
  for (std::size_t first = 0; first < 4; ++first)
    threads.emplace_back([&cuts, first] {
      for (std::size_t i = first; i < count; i += 3) cuts[i]->cut();  // some are cut twice
    });
  std::size_t taken = 0;
  const auto take = [&] {
    while (queue->pop() != nullptr) ++taken;
  };
  for (int i = 0; i < 1000; ++i) take();  // while they push
  for (std::thread& thread : threads) thread.join();
  take();
  CHECK(taken == count);
  CHECK(queue->empty());
}
