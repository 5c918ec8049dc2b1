// Descriptor: owns a file descriptor; on Windows, a socket.
#pragma once

#include <utility>

namespace agentcore::detail::platform {

void close_descriptor(int descriptor) noexcept;

// Another descriptor of the same, closed in every program that is started. -1, with errno, when the system
// has none left.
int duplicate_descriptor(int descriptor) noexcept;

// Closes descriptors that are not of the system, but of a test.
class DescriptorOwner {
 public:
  virtual void close(int descriptor) noexcept = 0;

 protected:
  ~DescriptorOwner() = default;
};

class Descriptor {
 public:
  Descriptor() = default;
  // `owner`: null: the system.
  explicit Descriptor(int descriptor, DescriptorOwner* owner = nullptr) noexcept
      : descriptor_(descriptor), owner_(owner) {}
  Descriptor(Descriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), owner_(other.owner_) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this == &other) return *this;
    reset();
    descriptor_ = std::exchange(other.descriptor_, -1);
    owner_ = other.owner_;
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const noexcept { return descriptor_; }
  explicit operator bool() const noexcept { return descriptor_ >= 0; }
  void reset() noexcept {
    if (descriptor_ < 0) return;
    const int closed = std::exchange(descriptor_, -1);
    if (owner_ != nullptr)
      owner_->close(closed);
    else
      close_descriptor(closed);
  }

 private:
  int descriptor_ = -1;
  DescriptorOwner* owner_ = nullptr;
};

}  // namespace agentcore::detail::platform
