// Descriptor: owns a file descriptor; on Windows, a socket.
#pragma once

#include <utility>

namespace agentcore::detail::platform {

void close_descriptor(int descriptor) noexcept;

// Another descriptor of the same, closed in every program that is started. -1, with errno, when the system
// has none left.
int duplicate_descriptor(int descriptor) noexcept;

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
  void reset(int descriptor = -1) noexcept {
    if (descriptor_ >= 0) close_descriptor(descriptor_);
    descriptor_ = descriptor;
  }

 private:
  int descriptor_ = -1;
};

}  // namespace agentcore::detail::platform
