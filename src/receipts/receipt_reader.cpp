#include "receipts/receipt_reader.hpp"

#include "receipts/receipt_chain.hpp"

#include <new>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore {
namespace detail::receipts {

std::optional<Error> problem_of(const std::string& path, const std::string& key, const char* function) {
  const auto refuse = [function](const char* what) {
    return Error{Errc::invalid_config, std::string(function) + ": " + what};
  };
  if (path.empty()) return refuse("the path is empty; name a file");
  if (path.find('\0') != std::string::npos) return refuse("the path has a zero byte");
  if (!key.empty() && (key.size() < 16 || key.size() > 4096))
    return refuse("the key must have 16 to 4096 bytes, or none");
  return std::nullopt;
}

Result<ReceiptCheck> check_receipts(LineFile& file, const ChainHash& hash,
                                    const std::function<void(Receipt&)>& visit) {
  ReceiptChain chain(hash);
  for (;;) {
    Result<std::optional<std::string_view>> line = file.next(max_line_bytes);
    ReceiptCheck found = chain.found();
    if (!line && line.error().code == Errc::store_corrupt) {
      found.line = found.records + 1;
      found.problem = line.error().message;
      return found;
    }
    if (!line) return line.error();
    if (!*line) {
      found.torn_bytes = file.tail_bytes();
      return found;
    }
    std::optional<Receipt> receipt = chain.take(**line);
    if (!receipt) return chain.found();
    if (visit) visit(*receipt);
  }
}

namespace {

// Whether the file has the anchor.
struct AnchorSearch {
  std::optional<ReceiptAnchor> anchor;
  std::string hash = {};  // of the receipt with its number

  void look_at(const Receipt& receipt) {
    if (anchor && receipt.number == anchor->number) hash = receipt.hash;
  }
  std::string problem() const {
    if (!anchor || anchor->number == 0 || anchor->hash == hash) return {};
    const std::string number = std::to_string(anchor->number);
    return hash.empty() ? "receipt " + number + " of the anchor is missing: receipts were removed at the end"
                        : "receipt " + number + " is not that of the anchor: the file was made anew";
  }
};

Result<ReceiptCheck> verify_file(const std::string& path, VerifyOptions& options) {
  if (auto problem = problem_of(path, options.key, "verify_receipts")) return *std::move(problem);
  const ChainHash hash(options.key);
  Result<LineFile> file = LineFile::open(path, LineFile::Mode::read);
  if (!file) return file.error();
  AnchorSearch search{std::move(options.anchor)};
  Result<ReceiptCheck> check =
      check_receipts(*file, hash, [&](const Receipt& receipt) { search.look_at(receipt); });
  if (check && check->intact()) check->problem = search.problem();
  return check;
}

Error wrong_line(const std::string& path, std::size_t number, const std::string& problem) {
  return {Errc::store_corrupt, path + ": line " + std::to_string(number) + " " + problem};
}

Result<std::string> json_of_file(const std::string& path) {
  if (auto problem = problem_of(path, {}, "receipts_to_json")) return *std::move(problem);
  Result<LineFile> file = LineFile::open(path, LineFile::Mode::read);
  if (!file) return file.error();
  std::string json = "[";
  for (std::size_t number = 1;; ++number) {
    Result<std::optional<std::string_view>> line = file->next(max_line_bytes);
    std::string problem;
    if (!line) {
      if (line.error().code != Errc::store_corrupt) return line.error();
      problem = line.error().message;
    } else if (!*line) {
      return json + "\n]";
    } else if (const auto receipt = receipt_of(**line, problem);
               receipt && receipt->body && !nlohmann::json::accept(*receipt->body)) {
      problem = "has a body that is no JSON";
    }
    if (!problem.empty()) return wrong_line(path, number, problem);
    json += number == 1 ? "\n" : ",\n";
    json += **line;
  }
}

}  // namespace
}  // namespace detail::receipts

Result<ReceiptCheck> verify_receipts(const std::string& path, VerifyOptions options) {
  try {
    Result<ReceiptCheck> check = detail::receipts::verify_file(path, options);
    detail::receipts::wipe(options.key);
    return check;
  } catch (const std::bad_alloc&) {
    detail::receipts::wipe(options.key);
    return Error{Errc::out_of_memory, "no memory to verify the receipts"};
  }
}

Result<std::string> receipts_to_json(const std::string& path) {
  try {
    return detail::receipts::json_of_file(path);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for the receipts"};
  }
}

}  // namespace agentcore
