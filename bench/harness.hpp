// Common functions of the benchmark programs: clocks, memory, and one line of JSON per figure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace bench {

// Wall clock, nanoseconds.
inline std::uint64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

// CPU time of the calling thread, nanoseconds.
inline std::uint64_t cpu() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

// CPU time of the whole process, nanoseconds: comparable with programs whose work is spread over threads.
inline std::uint64_t process_cpu() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(t.tv_nsec);
}

// Spaces out the load that a program makes or the samples that it takes; never used to wait for an event.
inline void pace_ms(long milliseconds) {
  const timespec t{.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
}

// Resident memory that only this process has, bytes: without the pages of files, such as the code of
// libraries.
inline std::size_t resident() {
  long total = 0;
  long pages = 0;
  long shared = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld %ld", &total, &pages, &shared) != 3) pages = shared = 0;
    std::fclose(file);
  }
  return static_cast<std::size_t>(pages - shared) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// A number in /proc/self/status, such as "Threads:" or "VmHWM:" (peak resident memory, KB); 0: not there.
inline double process_status(std::string_view field) {
  double value = 0;
  char line[256];
  std::FILE* const file = std::fopen("/proc/self/status", "r");
  while (file && std::fgets(line, sizeof line, file))
    if (std::string_view(line).starts_with(field)) value = std::strtod(line + field.size(), nullptr);
  if (file) std::fclose(file);
  return value;
}

// One figure of one run, as a line of JSON. scripts/bench collects them over several runs and takes medians.
// `peer` is the measured library; empty: agentcore.
inline void report_peer(std::string_view id, std::string_view variant, double value, std::string_view unit,
                        std::string_view peer) {
  const auto length = [](std::string_view text) { return static_cast<int>(text.size()); };
  std::printf(R"({"id": "%.*s", "variant": "%.*s", "value": %.4f, "unit": "%.*s", "peer": "%.*s"})"
              "\n",
              length(id), id.data(), length(variant), variant.data(), value, length(unit), unit.data(),
              length(peer), peer.data());
  std::fflush(stdout);
}

inline void report(std::string_view id, std::string_view variant, double value, std::string_view unit) {
  report_peer(id, variant, value, unit, "");
}

// The value below which `share` of the sorted samples lie; 0.5 is the median.
inline double quantile(std::vector<double>& samples, double share) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  return samples[std::min(samples.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(samples.size())))];
}

// The median of what `measure` returns in `rounds` calls.
template <typename Measure>
double median_of(std::size_t rounds, Measure measure) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < rounds; ++i) samples.push_back(measure());
  return quantile(samples, 0.5);
}

// Keeps the compiler from dropping a result.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

}  // namespace bench
