// Programs as tools: run in a process group of their own, which a stop ends.
#pragma once

#include <agentcore/clock.hpp>
#include <agentcore/tool.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace agentcore {

// What to run for one call. None of the texts may hold a null character.
struct SubprocessCommand {
  // The program and its arguments; no shell. A name without a slash is looked up in the host's PATH, a
  // relative path is taken from `directory`.
  std::vector<std::string> arguments = {};
  std::string directory = {};  // to run in; empty: the host's
  std::string input = {};      // what it reads from its standard input; empty: nothing (/dev/null)
  // Set in its environment, beside or in place of the host's own variables; of one named twice the last.
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool inherit_environment = true;  // false: only `environment`
};

struct SubprocessOptions {
  // From the call's arguments to the command. Called on the loop thread. What it throws makes the call fail.
  // A model wrote those arguments: name the program yourself, and think of what "-" can begin.
  std::function<SubprocessCommand(const nlohmann::json& arguments)> command = {};
  // Of each of standard output and standard error. The rest is read and dropped, and the result says how
  // much ("[N bytes more were dropped]"). Both together are cut to TreeOptions::max_tool_result_bytes.
  std::size_t max_output_bytes = std::size_t{64} << 10;
  // Between SIGTERM, which a stop or a time-out sends at once, from the stopping thread, and SIGKILL. Both go
  // to the whole group (G5). 0: SIGKILL as soon as the loop gets round to it. Not negative.
  Duration kill_grace = std::chrono::seconds(2);
};

// The result succeeded when the program exits with 0 and was not told to end. Its message is what the program
// wrote to standard output; otherwise how it ended and what it wrote to standard output and standard error;
// its data is {"exit_code":..} or {"signal":..}. Both pipes are drained whatever the size; broken UTF-8 is
// replaced. A program that cannot be started is a failed result that says why.
//
// Whatever is left of its process group when the program has ended is killed, at once: nothing of a call
// outlives it, but for processes that left the group (setsid), which are not waited for either (G13). When
// the Runtime goes first, the group is killed without a grace and reaped before its destructor returns; for
// one that even SIGKILL does not end at once (it runs as another user, or in a system call that does not
// return) that waits a second at most.
//
// The program gets default signal handlers, an empty signal mask, and of the host's descriptors none but its
// three (that needs glibc 2.34). Where the system has no pidfd_open (Linux 5.3) its end is noticed up to 50
// ms late. No thread, no signal handler: but a host that ignores SIGCHLD, or reaps children that are not its
// own, takes the exit code away, and what is then left of the group lives on.
//
// The tool is used on the loop thread. Throws std::invalid_argument without a `command`, or when an option
// is out of range.
Tool make_subprocess_tool(ToolSpec spec, SubprocessOptions options);

}  // namespace agentcore
