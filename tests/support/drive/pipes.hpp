// Pipes, and checks of descriptors from outside.
#pragma once

#ifdef _WIN32
#include "support/drive/windows_pipes.hpp"
#else

#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>

#include <poll.h>
#include <unistd.h>

namespace loop_test {

// True when poll(2) reports `descriptor` as readable now.
inline bool readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

// Blocks until `descriptor` is readable.
inline void wait_readable(int descriptor) {
  pollfd entry{descriptor, POLLIN, 0};
  while (::poll(&entry, 1, -1) != 1) {
  }
}

inline std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) ends_ = {-1, -1};
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  bool write() const { return ::write(ends_[1], "x", 1) == 1; }
  bool read() const {
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }
  void close_write_end() {
    ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

}  // namespace loop_test

#endif
