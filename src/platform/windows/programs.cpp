// Programs as tools: not built for Windows yet. spawn() says so, and nothing else here is ever needed.
#include "core/home_process.hpp"
#include "platform/pipe.hpp"
#include "platform/process_group.hpp"
#include "platform/spawn.hpp"

#ifdef _WIN32

#include <cerrno>

// No process forks here.
std::int64_t agentcore::detail::core::process_id() noexcept {
  return 0;
}

namespace agentcore::detail::platform {

Spawned spawn(const SubprocessCommand& command) {
  Spawned spawned;
  spawned.error = command.arguments.empty() ? "cannot start a program"
                                            : "cannot start \"" + command.arguments.front() + "\"";
  spawned.error +=
      ": programs as tools are not supported on Windows; use a function tool that starts the program";
  return spawned;
}

Descriptor open_exit_descriptor(ProcessId /*pid*/) noexcept {
  return Descriptor();
}

bool open_pipe(Pipe& /*pipe*/) noexcept {
  errno = ENOSYS;
  return false;
}

void stop_blocking(const Descriptor& /*descriptor*/) noexcept {
}

std::ptrdiff_t read_some(const Descriptor& /*descriptor*/, std::span<char> /*buffer*/) noexcept {
  errno = ENOSYS;
  return -1;
}

std::size_t bytes_held(const Descriptor& /*descriptor*/) noexcept {
  return 0;
}

std::ptrdiff_t write_quietly(const Descriptor& /*descriptor*/, std::string_view /*bytes*/) noexcept {
  errno = ENOSYS;
  return -1;
}

std::string_view signal_name(int /*number*/) noexcept {
  return "";
}

void ProcessGroup::lead(ProcessId leader) noexcept {
  leader_ = leader;
}

void ProcessGroup::terminate() noexcept {
}

void ProcessGroup::kill() noexcept {
}

std::optional<ExitStatus> ProcessGroup::try_reap() noexcept {
  return std::nullopt;
}

bool ProcessGroup::alive() const noexcept {
  return alive_;
}

}  // namespace agentcore::detail::platform

#endif
