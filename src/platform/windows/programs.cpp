// Programs as tools: not built for Windows yet. spawn() says so, and nothing else here is ever needed.
#include "core/home_process.hpp"
#include "platform/process_system.hpp"

#ifdef _WIN32

#include <cerrno>

// No process forks here.
std::int64_t agentcore::detail::core::process_id() noexcept {
  return 0;
}

namespace agentcore::detail::platform {

namespace {

class NoProcesses final : public ProcessSystem {
 public:
  Spawned spawn(const SubprocessCommand& command) override {
    Spawned spawned;
    spawned.error = command.arguments.empty() ? "cannot start a program"
                                              : "cannot start \"" + command.arguments.front() + "\"";
    spawned.error +=
        ": programs as tools are not supported on Windows; use a function tool that starts the program";
    return spawned;
  }

  Descriptor open_exit_descriptor(ProcessId) noexcept override { return Descriptor(); }
  bool signal_group(ProcessId, Signal) noexcept override { return false; }
  bool signal(ProcessId, Signal) noexcept override { return false; }
  ChildState look_at(ProcessId) noexcept override { return ChildState::gone; }
  ChildState reap(ProcessId, ExitStatus&) noexcept override { return ChildState::gone; }
  std::ptrdiff_t read(const Descriptor&, std::span<char>) noexcept override {
    errno = ENOSYS;
    return -1;
  }
  std::size_t bytes_held(const Descriptor&) noexcept override { return 0; }
  std::ptrdiff_t write(const Descriptor&, std::string_view) noexcept override {
    errno = ENOSYS;
    return -1;
  }
  Duration await_readable(int, Duration at_most) noexcept override { return at_most; }
};

}  // namespace

std::shared_ptr<ProcessSystem> make_process_system() {
  return std::make_shared<NoProcesses>();
}

std::string_view signal_name(int /*number*/) noexcept {
  return "";
}

}  // namespace agentcore::detail::platform

#endif
