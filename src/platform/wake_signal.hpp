// WakeSignal: a descriptor that any thread can make readable.
#pragma once

#include "core/home_process.hpp"

namespace agentcore::detail::platform {

// Linux: an eventfd; elsewhere: a pipe; Windows: a socket that sends to itself.
class WakeSignal {
 public:
  WakeSignal() = default;
  ~WakeSignal() { close(); }
  WakeSignal(const WakeSignal&) = delete;
  WakeSignal& operator=(const WakeSignal&) = delete;

  // False when the system has no descriptor left: errno has the reason.
  bool open() noexcept;
  bool is_open() const noexcept { return read_end_ >= 0; }
  void close() noexcept;

  // What to watch; -1: not open.
  int descriptor() const noexcept { return read_end_; }

  // Makes the open descriptor readable. Any thread may call it; the caller ensures that it stays open. A
  // forked child, which shares the descriptor with its parent, does not.
  void set() noexcept;
  // Makes the open descriptor unreadable.
  void clear() noexcept;

 private:
  core::HomeProcess home_;
  int read_end_ = -1;
  int write_end_ = -1;  // may be the same
};

}  // namespace agentcore::detail::platform
