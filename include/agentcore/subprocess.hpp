// Programs as tools. Each call runs in its own process group, which a stop ends.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/export.hpp>
#include <agentcore/json_fwd.hpp>
#include <agentcore/tool.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace agentcore {

/// The program to run for one call. No argument, directory or environment variable may contain a null
/// character; a command that cannot be run makes the call fail.
struct SubprocessCommand {
  /// The program and its arguments, at least the program. No shell is used. A program name without a slash is
  /// searched in the PATH of the host; a relative path is relative to `directory`.
  std::vector<std::string> arguments = {};
  /// The working directory of the program; empty: the working directory of the host.
  std::string directory = {};
  /// The standard input of the program; empty: /dev/null.
  std::string input = {};
  /// Names and values of environment variables. They are added to the variables of the host, or replace them.
  /// If a name occurs twice, the last value is used. A name must not be empty or contain '='.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// False: the program receives only `environment`, without the variables of the host.
  bool inherit_environment = true;
};

/// The options of make_subprocess_tool().
struct SubprocessOptions {
  /// Returns the command for the arguments of a call. Called on the loop thread. If it throws, the call
  /// fails. The arguments come from a model: choose the program in your own code, and remember that an
  /// argument may begin with "-".
  std::function<SubprocessCommand(const nlohmann::json& arguments)> command = {};
  /// The maximum for standard output and for standard error, in bytes, for each of the two. The rest is read
  /// and dropped; the result states how much ("[N bytes more were dropped]"). Both together are cut to
  /// TreeOptions::max_tool_result_bytes.
  std::size_t max_output_bytes = std::size_t{64} << 10;
  /// The time between SIGTERM and SIGKILL. A stop or a time-out sends SIGTERM at once, on the thread that
  /// stops. Both signals go to the whole process group (G5). 0: SIGKILL follows in the next poll. Not
  /// negative.
  Duration kill_grace = std::chrono::seconds(2);
};

/// Creates a tool that runs a program for each call. On Windows each call fails: programs are not supported
/// there.
///
///     tools->add(agentcore::make_subprocess_tool(
///         {.name = "list"}, {.command = [](const nlohmann::json&) {
///           agentcore::SubprocessCommand command;
///           command.arguments = {"ls", "-l"};
///           return command;
///         }}));
///
/// Result. The call succeeds if the program exits with 0 before a stop or a time-out signals it. The message
/// is then the standard output of the program. Otherwise it states how the program ended, with its standard
/// output and standard error. The data is {"exit_code":..} or {"signal":..}. Both pipes are drained, whatever
/// the size of the output. Broken UTF-8 is replaced. If the program cannot be started, the result is a
/// failure with the reason.
///
/// End of the program. When the program has ended, the rest of its process group is killed at once: no
/// process outlives its call, except processes that left the group (setsid); the call does not wait for those
/// (G13). If the Runtime is destroyed first, its destructor kills the group without a grace period and reaps
/// the program. If SIGKILL does not end a program at once (it runs as another user, or in a system call that
/// does not return), the destructor waits at most one second for each such program.
///
/// Not covered is the death of the host itself: after a SIGKILL, a crash or a loss of power of the host
/// process, nothing ends the program and its process group; they run on until they end by themselves. A host
/// that is restarted may then run a second copy beside the first: that of a call with ToolReplay::safe that
/// is made again. A program that must not outlive its host has to notice that by itself, e.g. at the end of
/// its standard input, or be started by a supervisor of the host (systemd, a container).
///
/// Environment. The program has the default signal handlers and an empty signal mask. It inherits no
/// descriptor of the host except its standard input, output and error (requires glibc 2.34). If the system
/// has no pidfd_open (Linux 5.3), the end of the program is noticed up to 50 ms late. The tool uses no thread
/// and no signal handler. If the host ignores SIGCHLD, or reaps children that it did not start, the exit code
/// is lost, and the rest of the process group is not killed.
///
/// Throws std::invalid_argument if `command` is empty or an option is out of range. The library uses
/// the tool on the loop thread.
AGENTCORE_API Tool make_subprocess_tool(ToolSpec spec, SubprocessOptions options);

}  // namespace agentcore
