// ProcessGroup: a started program and all processes that it started; lets any thread signal them.
#pragma once

#include <mutex>
#include <optional>

#include <sys/types.h>

namespace agentcore::detail::process {

struct ExitStatus {
  enum class Kind : unsigned char {
    exited,     // number: its exit code
    signalled,  // number: the signal that ended it
    lost,       // reaped by other code, e.g. because the host ignores SIGCHLD
  };
  Kind kind = Kind::lost;
  int number = 0;
};

// The group's number is its leader's pid. The system may reuse the number as soon as the leader is reaped and
// its group is empty, but not before. So: every signal is sent under the mutex and only before the leader is
// reaped, and reaping takes the mutex. No signal ever reaches another process.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // To be called once, before anything else.
  void lead(pid_t leader) noexcept;

  // Sends a signal to the whole group, at once; does nothing when there is none. Never blocks longer than the
  // system calls of another call here. @threadsafe (G5)
  void signal(int number) noexcept;

  // If the leader has ended: kills the rest of the group, reaps the leader and returns its exit status. Does
  // not wait. Returns nothing once the leader was reaped.
  std::optional<ExitStatus> try_reap() noexcept;

  // True from lead() until it is reaped.
  bool alive() const noexcept;

 private:
  void send(int number) const noexcept;

  mutable std::mutex mutex_;
  pid_t leader_ = 0;
  bool alive_ = false;  // not reaped yet
};

}  // namespace agentcore::detail::process
