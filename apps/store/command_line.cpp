#include "command_line.hpp"

#include "subcommand.hpp"

#include <agentcore/version.hpp>

#include <sstream>
#include <string>

namespace store_tool {
namespace {

constexpr const char* manual =
    "Files of stores are only read, but by vacuum, and may be in use by a running host meanwhile.\n"
    "Text from a file is escaped: it cannot control the terminal.\n"
    "\n"
    "Exit status: 0 done; 1 a check failed: the file is damaged; 2 wrong use, or an error";

[[noreturn]] void refuse_usage(const std::string& what) {
  throw Failure(agentcore::Errc::invalid_config, what + "; see agentcore-store --help");
}

}  // namespace

int run_command_line(int argc, const char* const* argv, Output& output) {
  CLI::App app("Shows what agentcore keeps in files: agents in a store, and receipts of stops.",
               "agentcore-store");
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", "agentcore-store " + std::string(agentcore::version),
                       "Print the version");
  app.require_subcommand(1);
  app.footer(manual);
  const Subcommand subcommands[] = {list_command(app),     show_command(app),  export_command(app),
                                    receipts_command(app), check_command(app), backup_command(app),
                                    vacuum_command(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    std::ostringstream text;
    if (end.get_exit_code() != 0 && app.get_subcommands().empty() && argc > 1)
      refuse_usage("there is no subcommand '" + std::string(argv[1]) + "'");
    if (end.get_exit_code() != 0) refuse_usage(end.what());
    app.exit(end, text, text);  // of --help and --version
    output.print(text.str());
    return exit_ok;
  }
  for (const Subcommand& subcommand : subcommands)
    if (subcommand.parser->parsed()) return subcommand.run(output);
  return exit_error;
}

}  // namespace store_tool
