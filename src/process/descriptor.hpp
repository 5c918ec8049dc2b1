// Descriptor: owns a file descriptor. Also: pipes, and writing to a pipe whose reader may be closed.
#pragma once

#include <string_view>
#include <utility>

#include <sys/types.h>

namespace agentcore::detail::process {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) reset(std::exchange(other.descriptor_, -1));
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  void reset(int descriptor = -1) noexcept;

 private:
  int descriptor_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

// Closed in every program that is started, and never one of the numbers 0 to 2, even if the host has closed
// those. Both ends block. False, with errno, when the system has no descriptor left.
bool open_pipe(Pipe& pipe) noexcept;

void stop_blocking(const Descriptor& descriptor) noexcept;

// write(2), but a closed reader causes EPIPE only: no signal reaches the host, whose handlers are not
// changed.
ssize_t write_quietly(const Descriptor& descriptor, std::string_view bytes) noexcept;

}  // namespace agentcore::detail::process
