// What every benchmark program here shares: clocks, memory, and one line of JSON per figure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string_view>

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

// Resident memory of the process, bytes.
inline std::size_t resident() {
  long total = 0;
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
    std::fclose(file);
  }
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// One figure of one run. scripts/bench collects them over several runs and takes medians.
inline void report(std::string_view id, std::string_view variant, double value, std::string_view unit) {
  std::printf(R"({"id": "%.*s", "variant": "%.*s", "value": %.4f, "unit": "%.*s"})"
              "\n",
              static_cast<int>(id.size()), id.data(), static_cast<int>(variant.size()), variant.data(), value,
              static_cast<int>(unit.size()), unit.data());
  std::fflush(stdout);
}

// Keeps the compiler from dropping a result.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

}  // namespace bench
