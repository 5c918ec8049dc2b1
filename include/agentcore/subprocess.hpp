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

// What to run for one call.
struct Command {
  std::vector<std::string> arguments = {};  // the program, looked up in PATH, and its arguments; no shell
  std::string directory = {};               // to run in; empty: the host's
  std::string input = {};                   // what it reads from its standard input
  // Set in its environment, beside the host's own variables.
  std::vector<std::pair<std::string, std::string>> environment = {};
  bool inherit_environment = true;  // false: only `environment`
};

struct SubprocessOptions {
  // From the call's arguments to the command. Called on the loop thread. What it throws makes the call fail.
  std::function<Command(const nlohmann::json& arguments)> command = {};
  // Of each of standard output and standard error; what is over is read and dropped, and the result says so.
  std::size_t max_output_bytes = std::size_t{64} << 10;
  // Between SIGTERM, which a stop or a time-out sends at once, from the stopping thread, and SIGKILL.
  Duration kill_grace = std::chrono::seconds(2);
};

// The result succeeded when the program exits with 0. Its message is what the program wrote to standard
// output; otherwise also how it ended and what it wrote to standard error; its data is
// {"exit_code":..} or {"signal":..}. Both pipes are drained whatever the size. Whatever is left of its
// process group when it has ended is killed: nothing of a call outlives it, but for processes that left the
// group. @loop_thread. Throws std::invalid_argument without a `command`.
Tool make_subprocess_tool(ToolSpec spec, SubprocessOptions options);

}  // namespace agentcore
