// The command line of agentcore-store.
#pragma once

#include "output.hpp"

namespace store_tool {

// Does what the command line asks for. Returns the exit code; throws std::exception, e.g. Failure.
int run_command_line(int argc, const char* const* argv, Output& output);

}  // namespace store_tool
