// For SDKs whose streaming call blocks: a thread for each stream, which counts the chunks of all.
#pragma once

#include "stream_figures.hpp"

#include <atomic>
#include <exception>
#include <thread>

namespace bench {

inline std::atomic<std::size_t> delivered_chunks = 0;

inline void count_chunk() {
  delivered_chunks.fetch_add(1, std::memory_order_relaxed);
}

// Runs `receive(text)`, which asks the model `text` and calls count_chunk() for each chunk, in a thread for
// each stream. The streams have no end: one that returns has failed.
template <typename Receive>
void run_threads(const StreamPlan& plan, Receive receive) {
  raise_descriptor_limit(plan.streams);
  const StreamRecord& record = map_record(plan.record, false);
  for (std::size_t stream = 0; stream < plan.streams; ++stream)
    std::thread([stream, &receive] {
      try {
        receive("stream " + std::to_string(stream));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
      }
      std::fprintf(stderr, "a stream ended\n");
      std::_Exit(1);
    }).detach();
  drive_until(
      "opening streams", [&] { return record.opened == plan.streams; }, [] { pace_ms(1); });
  measure_rival(
      plan, [] { return delivered_chunks.load(); }, [] { pace_ms(20); });
  std::_Exit(0);
}

}  // namespace bench
