// CommandLine: the parsed command line of agentcore-standin.
#pragma once

#include "options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace standin {

struct CommandLine {
  Options options;
  std::string port_file;  // empty: none
  bool log = false;
  bool help = false;
  std::string error;  // what is wrong with it; empty: nothing
};

CommandLine parse_command_line(const std::vector<std::string>& arguments);

// The manual page that --help prints.
std::string_view manual() noexcept;

}  // namespace standin
