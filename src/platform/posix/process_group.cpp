#include "platform/process_group.hpp"

#ifndef _WIN32

#include <cerrno>
#include <csignal>

#include <sys/wait.h>

namespace agentcore::detail::platform {

static_assert(sizeof(pid_t) <= sizeof(ProcessId));

void ProcessGroup::lead(ProcessId leader) noexcept {
  const core::Lock lock(mutex_);
  leader_ = leader;
  alive_ = true;
}

bool ProcessGroup::alive() const noexcept {
  const core::Lock lock(mutex_);
  return alive_;
}

void ProcessGroup::terminate() noexcept {
  signal(SIGTERM);
}

void ProcessGroup::kill() noexcept {
  signal(SIGKILL);
}

// A forked child of the host does not signal the programs of its parent.
void ProcessGroup::signal(int number) noexcept {
  if (home_.is_left()) return;
  const core::Lock lock(mutex_);
  if (alive_) send(number);
}

// The leader may have left its group; then it is signalled by itself. A second SIGKILL has no effect.
void ProcessGroup::send(int number) const noexcept {
  const bool sent = ::kill(-leader_, number) == 0;
  if (!sent || number == SIGKILL) ::kill(leader_, number);
}

std::optional<ExitStatus> ProcessGroup::try_reap() noexcept {
  const core::Lock lock(mutex_);
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

std::string_view signal_name(int number) noexcept {
  switch (number) {
    case SIGHUP:
      return "SIGHUP";
    case SIGINT:
      return "SIGINT";
    case SIGABRT:
      return "SIGABRT";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGKILL:
      return "SIGKILL";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGTERM:
      return "SIGTERM";
    default:
      return "";
  }
}

}  // namespace agentcore::detail::platform

#endif
