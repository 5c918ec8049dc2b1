#include "process/process_group.hpp"

#include <cerrno>
#include <csignal>

#include <sys/wait.h>

namespace agentcore::detail::process {

void ProcessGroup::lead(pid_t leader) noexcept {
  const std::lock_guard lock(mutex_);
  leader_ = leader;
  alive_ = true;
}

bool ProcessGroup::alive() const noexcept {
  const std::lock_guard lock(mutex_);
  return alive_;
}

void ProcessGroup::signal(int number) noexcept {
  const std::lock_guard lock(mutex_);
  if (alive_) send(number);
}

// The leader may have left its group; then it is signalled by itself. A second SIGKILL has no effect.
void ProcessGroup::send(int number) const noexcept {
  const bool sent = ::kill(-leader_, number) == 0;
  if (!sent || number == SIGKILL) ::kill(leader_, number);
}

std::optional<ExitStatus> ProcessGroup::try_reap() noexcept {
  const std::lock_guard lock(mutex_);
  if (!alive_) return std::nullopt;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(leader_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno != ECHILD) return std::nullopt;
    alive_ = false;  // the number may belong to another process by now: no more signals
    return ExitStatus{};
  }
  if (info.si_pid == 0) return std::nullopt;
  send(SIGKILL);  // while the dead leader still holds the number
  int status = 0;
  const pid_t reaped = ::waitpid(leader_, &status, WNOHANG);
  if (reaped == 0) return std::nullopt;
  alive_ = false;
  if (reaped < 0) return ExitStatus{};
  if (WIFEXITED(status)) return ExitStatus{ExitStatus::Kind::exited, WEXITSTATUS(status)};
  return ExitStatus{ExitStatus::Kind::signalled, WTERMSIG(status)};
}

}  // namespace agentcore::detail::process
