// The command line of agentcore-console.
#pragma once

#include "console/settings.hpp"

#include <optional>
#include <string>

namespace console_app {

// Reads the command line, and the config file that it names. Empty: there is nothing more to do; `text` is to
// be printed (--help, --version). Throws std::runtime_error with what is wrong.
std::optional<Settings> parse_command_line(int argc, const char* const* argv, std::string& text);

}  // namespace console_app
