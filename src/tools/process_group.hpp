// ProcessGroup: the program that was started, with all that it started itself; lets any thread signal them.
#pragma once

#include <mutex>
#include <optional>

#include <sys/types.h>

namespace agentcore::tools {

struct ExitStatus {
  enum class Kind : unsigned char {
    exited,     // number: its exit code
    signalled,  // number: the signal that ended it
    lost,       // somebody else reaped it, e.g. because the host ignores SIGCHLD
  };
  Kind kind = Kind::lost;
  int number = 0;
};

// The group's number is its leader's pid. The system may give that to others as soon as the leader is reaped
// and its group is empty; until then it is ours. So: every signal is sent under the mutex and only before the
// leader is reaped, and reaping takes the mutex. No signal ever reaches a stranger.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  // Once, before anything else.
  void lead(pid_t leader) noexcept;

  // To all of the group, at once; nothing when there is none. Never blocks longer than the system calls of
  // another call here. @threadsafe (G5)
  void signal(int number) noexcept;

  // If the leader has ended: kills what is left of the group, reaps the leader and tells how it ended. Does
  // not wait. Nothing, once it was reaped.
  std::optional<ExitStatus> try_reap() noexcept;

  // True from lead() until it is reaped.
  bool alive() const noexcept;

 private:
  void send(int number) const noexcept;

  mutable std::mutex mutex_;
  pid_t leader_ = 0;
  bool alive_ = false;  // not reaped yet
};

}  // namespace agentcore::tools
