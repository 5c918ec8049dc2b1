// agentcore-store receipts FILE
#include "core/json_depth.hpp"
#include "core/wipe.hpp"
#include "key_file.hpp"
#include "safe_text.hpp"
#include "subcommand.hpp"

#include <agentcore/receipt_file.hpp>

#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace store_tool {
namespace {

namespace core = agentcore::detail::core;
using Json = nlohmann::ordered_json;

struct ReceiptsOptions {
  std::string file;
  std::string key_file;
  std::string anchor;
  bool json = false;
};

// "NUMBER:HASH".
agentcore::ReceiptAnchor anchor_of(const std::string& text) {
  agentcore::ReceiptAnchor anchor;
  const char* const end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, anchor.number);
  if (error != std::errc{} || colon == end || *colon != ':')
    throw Failure(
        agentcore::Errc::invalid_config,
        "--anchor cannot be '" + text + "'; give the number and the hash of a receipt, as NUMBER:HASH");
  anchor.hash.assign(colon + 1, end);
  return anchor;
}

agentcore::ReceiptCheck verified(const ReceiptsOptions& options) {
  agentcore::VerifyOptions verify;
  if (!options.anchor.empty()) verify.anchor = anchor_of(options.anchor);
  std::string key;
  if (!options.key_file.empty()) key = read_key(options.key_file);
  verify.key = key;
  auto check = agentcore::verify_receipts(options.file, std::move(verify));
  core::wipe(key);
  return value_of(std::move(check));
}

void print_receipts_text(const ReceiptsOptions& options, const agentcore::ReceiptCheck& check,
                         Output& output) {
  output.print(fmt::format("{}: {}\n", printable(options.file), check.intact() ? "intact" : "not intact"));
  if (!check.intact())
    output.print(check.line == 0
                     ? fmt::format("  problem: {}\n", printable(check.problem))
                     : fmt::format("  problem: line {}: {}\n", check.line, printable(check.problem)));
  output.print(fmt::format("  verified with a key: {}\n", options.key_file.empty() ? "no" : "yes"));
  output.print(fmt::format("  receipts: {}{}\n", check.records, check.intact() ? "" : " before the problem"));
  output.print(fmt::format("  bodies erased: {}\n", check.erased));
  output.print(fmt::format("  receipts lost: {}\n", check.lost));
  if (check.torn_bytes != 0)
    output.print(fmt::format("  bytes of an unfinished line: {}\n", check.torn_bytes));
  if (check.last.number != 0)
    output.print(fmt::format("  last: {}:{}\n", check.last.number, printable(check.last.hash)));
}

// Null if a line is no receipt.
Json receipts_of(const std::string& file) {
  const auto text = agentcore::receipts_to_json(file);
  if (!text && text.error().code == agentcore::Errc::store_corrupt) return nullptr;
  // The chain was not verified: a body may be anything, and to print JSON needs stack for each level of it.
  if (text && core::json_depth(*text) > core::max_json_depth) return nullptr;
  return Json::parse(value_of(text), nullptr, false);
}

void print_receipts_json(const ReceiptsOptions& options, const agentcore::ReceiptCheck& check,
                         Output& output) {
  Json object{{"file", options.file},
              {"intact", check.intact()},
              {"verified_with_key", !options.key_file.empty()},
              {"records", check.records},
              {"erased", check.erased},
              {"lost", check.lost},
              {"torn_bytes", check.torn_bytes},
              {"last", {{"number", check.last.number}, {"hash", check.last.hash}}},
              {"line", check.line},
              {"problem", check.problem},
              {"receipts", receipts_of(options.file)}};
  output.print(safe_json(object) + "\n");
}

int run_receipts(const ReceiptsOptions& options, Output& output) {
  const agentcore::ReceiptCheck check = verified(options);
  (options.json ? print_receipts_json : print_receipts_text)(options, check, output);
  return check.intact() ? exit_ok : exit_check_failed;
}

}  // namespace

Subcommand receipts_command(CLI::App& app) {
  const auto options = std::make_shared<ReceiptsOptions>();
  CLI::App* const parser = app.add_subcommand("receipts", "Verifies a file of receipts of stops");
  parser->add_option("FILE", options->file, "The file of a ReceiptFile")->required()->type_name("");
  parser
      ->add_option("--key-file", options->key_file,
                   "The file with the key of the chain; one end of line behind the key is no part of it")
      ->type_name("KEY");
  parser
      ->add_option("--anchor", options->anchor,
                   "A receipt that must be in the file, as NUMBER:HASH, e.g. \"last\" of an earlier run")
      ->type_name("NUMBER:HASH");
  parser->add_flag("--json", options->json, "Print the result and all receipts as JSON");
  return {parser, [options](Output& output) { return run_receipts(*options, output); }};
}

}  // namespace store_tool
