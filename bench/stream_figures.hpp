// Common figures of the C++ clients of the stream server, and the waits for the server's record.
#pragma once

#include "harness.hpp"
#include "stream_record.hpp"

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// The command line of all stream clients: PORT RECORD STREAMS SECONDS STOPS.
struct StreamPlan {
  std::string port;
  std::string record;
  std::size_t streams = 0;
  double seconds = 0;     // of steady streaming, for chunk_cpu
  std::size_t stops = 0;  // of single streams, for stop_wire
  std::string_view peer;  // the measured library; empty: agentcore

  static StreamPlan parse(int argc, char** argv, std::string_view peer) {
    if (argc != 6) {
      std::fprintf(stderr, "usage: %s PORT RECORD STREAMS SECONDS STOPS\n", argv[0]);
      std::exit(2);
    }
    return {argv[1],
            argv[2],
            std::strtoull(argv[3], nullptr, 10),
            std::strtod(argv[4], nullptr),
            std::strtoull(argv[5], nullptr, 10),
            peer};
  }

  std::string number() const { return std::to_string(streams); }

  void report(std::string_view id, std::string_view detail, double value, std::string_view unit) const {
    report_peer(id, number() + std::string(detail), value, unit, peer);
  }

  // The order in which streams are stopped.
  std::vector<std::size_t> shuffled() const {
    std::vector<std::size_t> order(streams);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    return order;
  }
};

inline constexpr std::uint64_t patience = 60'000'000'000;  // for any wait; then the program exits
inline constexpr std::size_t max_opening = 400;            // streams requested and not open yet

// Runs `step` until `done`. Exits when that takes longer than the maximum of a benchmark.
template <typename Done, typename Step>
void drive_until(const char* what, Done done, Step step) {
  const std::uint64_t end = now() + patience;
  while (!done()) {
    step();
    if (now() < end) continue;
    std::fprintf(stderr, "gave up: %s\n", what);
    std::_Exit(too_slow);
  }
}

// chunk_cpu, over plan.seconds of steady streaming. `chunks` is read before and after.
template <typename Step>
void measure_chunks(const StreamPlan& plan, const std::size_t& chunks, Step step) {
  const std::uint64_t end = now() + static_cast<std::uint64_t>(plan.seconds * 1e9);
  const std::size_t chunks_before = chunks;
  const std::uint64_t cpu_before = process_cpu();
  while (now() < end) step();
  const auto spent = static_cast<double>(process_cpu() - cpu_before);
  const auto counted = static_cast<double>(chunks - chunks_before);
  plan.report("chunk_cpu", "", spent / counted / 1e3, "us");
}

// rivals, over plan.seconds of steady streaming. `chunks` returns how many were delivered so far.
template <typename Chunks, typename Step>
void measure_rival(const StreamPlan& plan, Chunks chunks, Step step) {
  const std::uint64_t end = now() + static_cast<std::uint64_t>(plan.seconds * 1e9);
  const std::size_t chunks_before = chunks();
  const std::uint64_t cpu_before = process_cpu();
  while (now() < end) step();
  const auto spent = static_cast<double>(process_cpu() - cpu_before);
  const auto counted = static_cast<double>(chunks() - chunks_before);
  plan.report("rivals", " streams, CPU time per chunk", spent / counted / 1e3, "us");
  plan.report("rivals", " streams, threads", process_status("Threads:"), "");
  plan.report("rivals", " streams, peak memory", process_status("VmHWM:") / 1024, "MB");
  plan.report("rivals", " streams, memory without files", process_status("RssAnon:") / 1024, "MB");
}

// From each stop until the server detected it, in microseconds.
inline void report_stops(const StreamPlan& plan, std::string_view id, const StreamRecord& record,
                         const std::vector<std::pair<std::size_t, std::uint64_t>>& stops) {
  std::vector<double> samples;
  for (const auto& [stream, called] : stops) {
    const std::uint64_t seen = record.seen[stream];
    samples.push_back(seen > called ? static_cast<double>(seen - called) / 1e3 : 0);
  }
  if (samples.empty()) return;
  plan.report(id, ", median", quantile(samples, 0.5), "us");
  plan.report(id, ", p99", quantile(samples, 0.99), "us");
}

// From one call that stopped all streams in `order` from `first` on, until the server detected the last end.
inline void report_stop_all(const StreamPlan& plan, const StreamRecord& record, std::uint64_t called,
                            const std::vector<std::size_t>& order, std::size_t first) {
  std::uint64_t last = called;
  for (std::size_t i = first; i < order.size(); ++i)
    last = std::max<std::uint64_t>(last, record.seen[order[i]]);
  plan.report("stop_wire_all", "", static_cast<double>(last - called) / 1e6, "ms");
}

}  // namespace bench
