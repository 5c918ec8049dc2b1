// Subcommand: one of the things that the program can do. Each is a file of its own.
#pragma once

#include "failure.hpp"
#include "output.hpp"

#include <functional>

#include <CLI/CLI.hpp>

namespace store_tool {

struct Subcommand {
  CLI::App* parser = nullptr;         // its part of the command line
  std::function<int(Output&)> run{};  // after the parsing; returns the exit code, throws Failure
};

// Each adds a part to the command line.
Subcommand list_command(CLI::App& app);
Subcommand show_command(CLI::App& app);
Subcommand export_command(CLI::App& app);
Subcommand receipts_command(CLI::App& app);
Subcommand check_command(CLI::App& app);
Subcommand backup_command(CLI::App& app);
Subcommand vacuum_command(CLI::App& app);

}  // namespace store_tool
