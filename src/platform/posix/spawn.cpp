#include "platform/spawn.hpp"

#include "platform/pipe.hpp"

#ifndef _WIN32

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/syscall.h>
#else
extern char** environ;
#endif

namespace agentcore::detail::platform {

namespace {

// The arguments of posix_spawn(); keeps the first error.
class Plan {
 public:
  Plan() noexcept {
    check(::posix_spawn_file_actions_init(&actions_));
    check(::posix_spawnattr_init(&attributes_));
  }
  ~Plan() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void give(const Descriptor& descriptor, int as) noexcept {
    check(::posix_spawn_file_actions_adddup2(&actions_, descriptor.get(), as));
  }
  void give_nothing_to_read() noexcept {
    check(::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0));
  }
  void enter(const std::string& directory) noexcept {
    check(::posix_spawn_file_actions_addchdir_np(&actions_, directory.c_str()));
  }
  void give_nothing_else() noexcept {
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
    check(::posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1));
#endif
#endif
  }
  // Its own group; no signal blocked or ignored: a program must receive SIGTERM even if the host blocks it.
  void stand_alone() noexcept {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    check(::posix_spawnattr_setpgroup(&attributes_, 0));
    check(::posix_spawnattr_setsigmask(&attributes_, &none));
    check(::posix_spawnattr_setsigdefault(&attributes_, &all));
    check(::posix_spawnattr_setflags(&attributes_,
                                     POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  }

  // 0, or the error.
  int run(pid_t& pid, char* const* arguments, char* const* environment) noexcept {
    if (error_ != 0) return error_;
    return ::posix_spawnp(&pid, arguments[0], &actions_, &attributes_, arguments, environment);
  }

 private:
  void check(int error) noexcept {
    if (error_ == 0) error_ = error;
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
  int error_ = 0;
};

bool holds_nul(std::string_view text) noexcept {
  return text.find('\0') != std::string_view::npos;
}

// Why the command cannot be passed to the system; empty: it can.
std::string fault_of(const SubprocessCommand& command) {
  if (command.arguments.empty() || command.arguments.front().empty())
    return "SubprocessCommand::arguments is empty; its first entry must be a program";
  if (std::ranges::any_of(command.arguments, holds_nul) || holds_nul(command.directory))
    return "the command holds a null character";
  for (const auto& [name, value] : command.environment) {
    if (name.empty() || name.find('=') != std::string::npos)
      return "the command sets an environment variable without a proper name";
    if (holds_nul(name) || holds_nul(value)) return "the command holds a null character";
  }
  return {};
}

bool sets(std::string_view entry, std::string_view name) noexcept {
  return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
}

// "NAME=value" of all variables for the program; of a variable that is set twice, the last value.
std::vector<std::string> environment_of(const SubprocessCommand& command) {
  std::vector<std::string> entries;
  if (command.inherit_environment)
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  for (const auto& [name, value] : command.environment) {
    std::erase_if(entries, [&added = name](const std::string& entry) { return sets(entry, added); });
    entries.emplace_back(name).append("=").append(value);
  }
  return entries;
}

// The form that the system expects. It does not write to the strings.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers(texts.size() + 1, nullptr);
  std::ranges::transform(texts, pointers.begin(),
                         [](const std::string& text) { return const_cast<char*>(text.c_str()); });
  return pointers;
}

std::string text_of(int error) {
  return std::generic_category().message(error);
}

std::string describe(const SubprocessCommand& command, int error) {
  if (!command.directory.empty() && ::access(command.directory.c_str(), X_OK) != 0)
    return "cannot enter the directory \"" + command.directory + "\": " + text_of(errno);
  return "cannot start \"" + command.arguments.front() + "\": " + text_of(error);
}

Spawned failed(std::string why) {
  Spawned spawned;
  spawned.error = std::move(why);
  return spawned;
}

}  // namespace

Spawned spawn(const SubprocessCommand& command) {
  if (std::string fault = fault_of(command); !fault.empty()) return failed(std::move(fault));
  const std::vector<std::string> environment = environment_of(command);
  Pipe input, output, errors;
  if ((!command.input.empty() && !open_pipe(input)) || !open_pipe(output) || !open_pipe(errors))
    return failed("cannot make a pipe: " + text_of(errno));
  Plan plan;
  if (input.read_end)
    plan.give(input.read_end, STDIN_FILENO);
  else
    plan.give_nothing_to_read();
  plan.give(output.write_end, STDOUT_FILENO);
  plan.give(errors.write_end, STDERR_FILENO);
  plan.give_nothing_else();
  if (!command.directory.empty()) plan.enter(command.directory);
  plan.stand_alone();
  Spawned spawned;
  const int error =
      plan.run(spawned.pid, pointers_to(command.arguments).data(), pointers_to(environment).data());
  if (error != 0) return failed(describe(command, error));
  spawned.input = std::move(input.write_end);
  spawned.output = std::move(output.read_end);
  spawned.errors = std::move(errors.read_end);
  for (const Descriptor* const end : {&spawned.input, &spawned.output, &spawned.errors})
    if (*end) stop_blocking(*end);
  return spawned;
}

Descriptor open_exit_descriptor([[maybe_unused]] ProcessId pid) noexcept {
#ifdef SYS_pidfd_open
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
#else
  return Descriptor();
#endif
}

}  // namespace agentcore::detail::platform

#endif
