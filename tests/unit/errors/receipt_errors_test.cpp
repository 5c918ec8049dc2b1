// Errors of files of receipts.
#include "support/store/receipts.hpp"
#include "support/store/store_folder.hpp"
#include "unit/errors/error_rows.hpp"

#include <filesystem>
#include <stdexcept>
#include <string>

#include <unistd.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

Error error_of_open(const std::string& path, ReceiptOptions options = {}) {
  const auto file = ReceiptFile::open(path, std::move(options));
  return file ? Error{} : file.error();
}

Error thrown_by_record(ReceiptFile& file) {
  try {
    file.record(stop_record("a"));
  } catch (const std::runtime_error& error) {
    CHECK(file.last_error().message == error.what());
  }
  return file.last_error();
}

void add_options(ErrorRows& rows) {
  const auto add = [&](Error error, std::string text) {
    rows.push_back({text, std::move(error), Errc::invalid_config, text});
  };
  add(error_of_open(""), "ReceiptFile::open: the path is empty; name a file");
  add(error_of_open(std::string(1, '\0')), "ReceiptFile::open: the path has a zero byte");
  add(error_of_open("x", {.key = "fifteen bytes.."}),
      "ReceiptFile::open: the key must have 16 to 4096 bytes, or none");
  add(error_of_open("x", {.key = std::string(4097, 'k')}),
      "ReceiptFile::open: the key must have 16 to 4096 bytes, or none");
  add(verify_receipts("").error(), "verify_receipts: the path is empty; name a file");
  add(verify_receipts("x", {.key = "short"}).error(),
      "verify_receipts: the key must have 16 to 4096 bytes, or none");
  add(receipts_to_json("").error(), "receipts_to_json: the path is empty; name a file");
}

void add_paths(ErrorRows& rows, const StoreFolder& folder) {
  std::filesystem::create_directory(folder.file("sub"));
  rows.push_back({"a folder", error_of_open(folder.file("sub")), Errc::store_unavailable,
                  folder.file("sub") + ": Is a directory"});
  rows.push_back({"a folder to read", verify_receipts(folder.file("sub")).error(), Errc::store_unavailable,
                  folder.file("sub") + " is no regular file; give the path of a file"});
  const std::string missing = folder.file("missing/file");
  rows.push_back({"a missing folder", error_of_open(missing), Errc::store_unavailable,
                  missing + "-lock: No such file or directory"});
  rows.push_back({"a missing file", receipts_to_json(folder.file("none")).error(), Errc::store_unavailable,
                  folder.file("none") + ": No such file or directory"});
}

void add_file(ErrorRows& rows, const StoreFolder& folder) {
  const std::string path = folder.file();
  auto file = open_receipts(path, {.max_bytes = 10});
  rows.push_back({"a second writer", error_of_open(path), Errc::store_in_use,
                  path + "-lock: another ReceiptFile (process " + std::to_string(::getpid()) +
                      ") writes this file; close it"});
  rows.push_back({"the size limit", thrown_by_record(*file), Errc::store_full,
                  path + ": the receipt does not fit into ReceiptOptions::max_bytes"});
  file.reset();
  write_receipts(path, {"a", "b"});
  std::string content = receipt_content(path);
  set_receipt_content(path, content + "{}\n");
  rows.push_back({"a line that is none", receipts_to_json(path).error(), Errc::store_corrupt,
                  path + ": line 3 is not a receipt: {\"format\":\"agentcore-receipt-1\",\"mac\":\" is "
                         "expected at byte 1"});
  content.replace(content.rfind("enough"), 6, "no\x01one");
  set_receipt_content(path, content);
  rows.push_back({"a body that is none", receipts_to_json(path).error(), Errc::store_corrupt,
                  path + ": line 2 has a body that is no JSON"});
  rows.push_back({"a broken chain", error_of_open(path), Errc::store_corrupt,
                  path + ": line 2 has a body that was changed"});
}

}  // namespace

ErrorRows test::receipt_errors() {
  ErrorRows rows;
  add_options(rows);
  const StoreFolder paths, file;
  add_paths(rows, paths);
  add_file(rows, file);
  return rows;
}

TEST_CASE("errors of receipts name the file and what is wrong", "[errors][receipts]") {
  check(receipt_errors());
}
