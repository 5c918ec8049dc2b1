// agentcore-store check FILE
#include "opened_store.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace store_tool {
namespace {

// What is wrong with the file, and with what is in it; throws Failure if that cannot be found out.
std::vector<std::string> problems_of(const std::string& file) {
  try {
    OpenedStore store(file);
    std::vector<std::string> problems = store.check();
    if (!problems.empty()) return problems;
    const persist::StoredForest forest = store.forest();
    // One that has changed meanwhile is being written by a host.
    for (const auto& agent : forest.agents()) static_cast<void>(store.conversation(*agent));
    for (std::string& problem : store.unowned()) problems.push_back(std::move(problem));
    return problems;
  } catch (const Failure& failure) {
    if (failure.code() != agentcore::Errc::store_corrupt) throw;
    return {failure.what()};
  }
}

int run_check(const std::string& file, Output& output) {
  const std::vector<std::string> problems = problems_of(file);
  if (problems.empty()) {
    output.print(printable(file) + ": intact\n");
    return exit_ok;
  }
  output.print(printable(file) + ": damaged\n");
  for (const std::string& problem : problems) output.print("  " + printable(problem) + "\n");
  return exit_check_failed;
}

}  // namespace

Subcommand check_command(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  CLI::App* const parser =
      app.add_subcommand("check", "Reads the whole file of a store, and looks for damage");
  parser->add_option("FILE", *file, "The file of a SqliteStore")->required()->type_name("");
  return {parser, [file](Output& output) { return run_check(*file, output); }};
}

}  // namespace store_tool
