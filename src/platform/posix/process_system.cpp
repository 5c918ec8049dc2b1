#include "platform/process_system.hpp"

#include "platform/await_readable.hpp"
#include "platform/pipe.hpp"
#include "platform/spawn.hpp"

#ifndef _WIN32

#include <cerrno>
#include <csignal>

#include <sys/wait.h>

namespace agentcore::detail::platform {

static_assert(sizeof(pid_t) <= sizeof(ProcessId));

namespace {

constexpr int number_of(Signal signal) noexcept {
  return signal == Signal::kill ? SIGKILL : SIGTERM;
}

ChildState state_of_failure() noexcept {
  return errno == ECHILD ? ChildState::gone : ChildState::unknown;
}

class PosixProcesses final : public ProcessSystem {
 public:
  Spawned spawn(const SubprocessCommand& command) override { return platform::spawn(command); }
  Descriptor open_exit_descriptor(ProcessId pid) noexcept override {
    return platform::open_exit_descriptor(pid);
  }

  bool signal_group(ProcessId leader, Signal signal) noexcept override {
    return ::kill(-leader, number_of(signal)) == 0;
  }
  bool signal(ProcessId pid, Signal signal) noexcept override { return ::kill(pid, number_of(signal)) == 0; }

  ChildState look_at(ProcessId pid) noexcept override {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
      return state_of_failure();
    return info.si_pid == 0 ? ChildState::running : ChildState::ended;
  }

  ChildState reap(ProcessId pid, ExitStatus& status) noexcept override {
    int how = 0;
    const pid_t reaped = ::waitpid(pid, &how, WNOHANG);
    if (reaped < 0) return state_of_failure();
    if (reaped == 0) return ChildState::running;
    status = WIFEXITED(how) ? ExitStatus{ExitStatus::Kind::exited, WEXITSTATUS(how)}
                            : ExitStatus{ExitStatus::Kind::signalled, WTERMSIG(how)};
    return ChildState::ended;
  }

  std::ptrdiff_t read(const Descriptor& descriptor, std::span<char> buffer) noexcept override {
    return read_some(descriptor, buffer);
  }
  std::size_t bytes_held(const Descriptor& descriptor) noexcept override {
    return platform::bytes_held(descriptor);
  }
  std::ptrdiff_t write(const Descriptor& descriptor, std::string_view bytes) noexcept override {
    return write_quietly(descriptor, bytes);
  }

  Duration await_readable(int descriptor, Duration at_most) noexcept override {
    const auto begin = std::chrono::steady_clock::now();
    platform::await_readable(descriptor, at_most);
    return std::chrono::steady_clock::now() - begin;
  }
};

}  // namespace

std::shared_ptr<ProcessSystem> make_process_system() {
  return std::make_shared<PosixProcesses>();
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
