// agentcore-store backup FILE TARGET
#include "opened_store.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace store_tool {
namespace {

struct BackupCommand {
  std::string file;
  std::string target;
  bool force = false;
};

int run_backup(const BackupCommand& options, Output& output) {
  OpenedStore store(options.file);
  store.back_up(options.target, options.force);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(options.target, error);
  if (error) throw Failure(agentcore::Errc::store_failed, options.target + ": " + error.message());
  output.print(
      fmt::format("{}: {} bytes copied to {}\n", printable(options.file), bytes, printable(options.target)));
  return exit_ok;
}

}  // namespace

Subcommand backup_command(CLI::App& app) {
  const auto options = std::make_shared<BackupCommand>();
  CLI::App* const parser =
      app.add_subcommand("backup", "Copies a store into a new file, also while a host writes the store");
  parser->add_option("FILE", options->file, "The file of a SqliteStore")->required()->type_name("");
  parser->add_option("TARGET", options->target, "The file of the copy, which must not exist")
      ->required()
      ->type_name("");
  parser->add_flag("--force", options->force, "Replace TARGET, unless a host has it open for writing");
  return {parser, [options](Output& output) { return run_backup(*options, output); }};
}

}  // namespace store_tool
