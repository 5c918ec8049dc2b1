// ProcessGroup: a started program and all processes that it started; lets any thread signal them.
#pragma once

#include "core/home_process.hpp"
#include "core/mutex.hpp"
#include "platform/process_system.hpp"

#include <optional>

namespace agentcore::detail::platform {

// The group's number is its leader's pid. The system may reuse the number as soon as the leader is reaped and
// its group is empty, but not before. So: every signal is sent under the mutex and only before the leader is
// reaped, and reaping takes the mutex. No signal ever reaches another process.
class ProcessGroup {
 public:
  // The system must outlive the group.
  explicit ProcessGroup(ProcessSystem& system) noexcept : system_(system) {}
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // To be called once, before anything else.
  void lead(ProcessId leader) noexcept;

  // Sends SIGTERM or SIGKILL to the whole group, at once; does nothing when there is none. Never blocks
  // longer than the system calls of another call here. @threadsafe (G5)
  void terminate() noexcept { signal(Signal::terminate); }
  void kill() noexcept { signal(Signal::kill); }

  // If the leader has ended: kills the rest of the group, reaps the leader and returns its exit status. Does
  // not wait. Returns nothing once the leader was reaped.
  std::optional<ExitStatus> try_reap() noexcept;

  // True from lead() until it is reaped.
  bool alive() const noexcept;

 private:
  void signal(Signal signal) noexcept;
  void send(Signal signal) const noexcept AGENTCORE_REQUIRES(mutex_);

  ProcessSystem& system_;
  mutable core::Mutex mutex_;
  core::HomeProcess home_;
  ProcessId leader_ AGENTCORE_GUARDED_BY(mutex_) = 0;
  bool alive_ AGENTCORE_GUARDED_BY(mutex_) = false;  // not reaped yet
};

}  // namespace agentcore::detail::platform
