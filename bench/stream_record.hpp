// StreamRecord: the measurements of the stream server for its client, in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace bench {

// Exit codes that scripts/bench handles: neither is a fault of the program.
inline constexpr int not_possible = 3;
inline constexpr int too_slow = 4;

// 64-bit words in the machine's order; peers in other languages read them by position. `seen` holds, by
// stream number, when the server detected the end of the client, in nanoseconds of CLOCK_MONOTONIC, which all
// processes of a machine share; 0: not yet.
struct StreamRecord {
  static constexpr std::size_t max_streams = 65536;

  std::atomic<std::uint64_t> opened;   // word 0: streams that have had their first chunk
  std::atomic<std::uint64_t> closed;   // word 1
  std::atomic<std::uint64_t> sent;     // word 2: chunks
  std::atomic<std::uint64_t> skipped;  // word 3: chunks that did not fit in a socket's buffer
  std::atomic<std::uint64_t> seen[max_streams];
};

// Maps the record at `path`, for the life of the process. Exits when it cannot.
inline StreamRecord& map_record(const std::string& path, bool create) {
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_TRUNC : 0), 0600);
  if (file < 0 || (create && ftruncate(file, sizeof(StreamRecord)) != 0)) {
    std::perror(path.c_str());
    std::exit(1);
  }
  void* const memory = mmap(nullptr, sizeof(StreamRecord), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) std::exit(1);
  return *static_cast<StreamRecord*>(memory);
}

// As many descriptors as this process may have. Exits when fewer than `streams` streams need.
inline void raise_descriptor_limit(std::size_t streams) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= streams + 64) return;
  std::fprintf(stderr, "the system allows %llu descriptors, %zu streams need more\n",
               static_cast<unsigned long long>(limit.rlim_cur), streams);
  std::exit(not_possible);
}

}  // namespace bench
