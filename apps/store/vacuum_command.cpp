// agentcore-store vacuum FILE
#include "opened_store.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace store_tool {
namespace {

std::uintmax_t size_of(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw Failure(agentcore::Errc::store_failed, file + ": " + error.message());
  return size;
}

int run_vacuum(const std::string& file, Output& output) {
  static_cast<void>(OpenedStore(file));  // to open it for writing would create a file that is missing
  const auto store = value_of(agentcore::SqliteStore::open(file));
  const std::uintmax_t before = size_of(file);
  if (auto done = store->compact(); !done) throw Failure(done.error());
  output.print(fmt::format("{}: {} bytes before, {} bytes now\n", printable(file), before, size_of(file)));
  return exit_ok;
}

}  // namespace

Subcommand vacuum_command(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  CLI::App* const parser = app.add_subcommand(
      "vacuum", "Rewrites the file of a store without free pages; no host may have it open for writing");
  parser->add_option("FILE", *file, "The file of a SqliteStore")->required()->type_name("");
  return {parser, [file](Output& output) { return run_vacuum(*file, output); }};
}

}  // namespace store_tool
