// agentcore-store receipts.
#include "support/store/receipts.hpp"

#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_program.hpp"

#include <agentcore/receipt_file.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::ProgramRun;
using agentcore::test::run_store_program;
using agentcore::test::stop_record;
using agentcore::test::StoreFolder;

namespace {

const std::string secret = "a secret of the host";

// Two receipts. Returns the last one.
ReceiptAnchor write_receipts(const std::string& file, const std::string& key = {}) {
  const auto receipts = ReceiptFile::open(file, {.key = key}).value();
  receipts->record(stop_record("planner"));
  receipts->record(stop_record("helper"));
  return receipts->last();
}

void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string read_text(const std::string& file) {
  std::ifstream input(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(input), {}};
}

}  // namespace

TEST_CASE("receipts says that a file is intact", "[store_program][receipts]") {
  const StoreFolder folder;
  const std::string file = folder.file("receipts.jsonl");
  const ReceiptAnchor last = write_receipts(file);
  const ProgramRun run = run_store_program({"receipts", file});
  CHECK(run.code == 0);
  CHECK(run.out == file +
                       ": intact\n  verified with a key: no\n  receipts: 2\n  bodies erased: 0\n"
                       "  receipts lost: 0\n  last: 2:" +
                       last.hash + "\n");
  const ProgramRun json = run_store_program({"receipts", "--json", file});
  CHECK(json.code == 0);
  const nlohmann::json result = nlohmann::json::parse(json.out);
  CHECK(result["intact"] == true);
  CHECK(result["last"]["hash"] == last.hash);
  REQUIRE(result["receipts"].size() == 2);
  CHECK(result["receipts"][1]["number"] == 2);
}

TEST_CASE("receipts names the first wrong line, and its exit code says so", "[store_program][receipts]") {
  const StoreFolder folder;
  const std::string file = folder.file("receipts.jsonl");
  write_receipts(file);
  std::string text = read_text(file);
  SECTION("a changed receipt") {
    text.replace(text.rfind("helper"), 6, "HELPER");
    write_text(file, text);
    const ProgramRun json = run_store_program({"receipts", "--json", file});
    CHECK(json.code == 1);
    CHECK(nlohmann::json::parse(json.out)["line"] == 2);
  }
  SECTION("a body that is nested deeper than the stack allows") {
    const std::size_t body = text.rfind("\"body\":") + 7, end = text.rfind(",\"hash\":");
    text.replace(body, end - body,
                 "{\"a\":" + std::string(3'000'000, '[') + std::string(3'000'000, ']') + "}");
    write_text(file, text);
    const ProgramRun json = run_store_program({"receipts", "--json", file});
    CHECK(json.code == 1);
    CHECK(nlohmann::json::parse(json.out)["receipts"] == nullptr);
  }
  SECTION("a line that is no receipt, with text that controls a terminal") {
    write_text(file, text.substr(0, text.find('\n') + 1) + "\x1b[2J\n");
    const ProgramRun json = run_store_program({"receipts", "--json", file});
    CHECK(json.code == 1);
    CHECK(nlohmann::json::parse(json.out)["receipts"] == nullptr);
  }
  const ProgramRun run = run_store_program({"receipts", file});
  CHECK(run.code == 1);
  CHECK(run.err.empty());
  CHECK(run.out.find(": not intact\n  problem: line 2: ") != std::string::npos);
  CHECK(run.out.find("receipts: 1 before the problem") != std::string::npos);
  CHECK(run.out.find('\x1b') == std::string::npos);
}

TEST_CASE("receipts with a key are verified with its file", "[store_program][receipts]") {
  const StoreFolder folder;
  const std::string file = folder.file("receipts.jsonl");
  const std::string key = folder.file("key");
  write_receipts(file, secret);
  SECTION("the right key, with an end of line and without one") {
    const std::string end = GENERATE("", "\n", "\r\n");
    write_text(key, secret + end);
    const ProgramRun run = run_store_program({"receipts", file, "--key-file", key});
    CHECK(run.code == 0);
    CHECK(run.out.find("verified with a key: yes") != std::string::npos);
  }
  SECTION("another key") {
    write_text(key, secret + "\n\n");  // only one end of line is no part of it
    CHECK(run_store_program({"receipts", file, "--key-file", key}).code == 1);
  }
  SECTION("no key") {
    CHECK(run_store_program({"receipts", file}).code == 1);
  }
  SECTION("a key that can be none") {
    const std::string text =
        GENERATE(as<std::string>(), "", "too short", std::string(4097, 'k'), std::string(9000, 'k'));
    write_text(key, text);
    const ProgramRun run = run_store_program({"receipts", file, "--key-file", key});
    CHECK(run.code == 2);
    CHECK(run.err == "agentcore-store: " + key +
                         ": a key has 16 to 4096 bytes; give --key-file the file with the key\n");
  }
  SECTION("no file, or a folder") {
    CHECK(run_store_program({"receipts", file, "--key-file", key}).err ==
          "agentcore-store: " + key + ": No such file or directory; give --key-file the file with the key\n");
    const ProgramRun run = run_store_program({"receipts", file, "--key-file", folder.file("")});
    CHECK(run.code == 2);
    CHECK(run.err.find("Is a directory") != std::string::npos);
  }
}

TEST_CASE("receipts that are missing at the end are found by an anchor", "[store_program][receipts]") {
  const StoreFolder folder;
  const std::string file = folder.file("receipts.jsonl");
  const std::string last = "2:" + write_receipts(file).hash;
  CHECK(run_store_program({"receipts", file, "--anchor", last}).code == 0);
  const std::string text = read_text(file);
  write_text(file, text.substr(0, text.find('\n') + 1));
  CHECK(run_store_program({"receipts", file}).code == 0);
  CHECK(run_store_program({"receipts", file, "--anchor", last}).code == 1);
  const ProgramRun run = run_store_program({"receipts", file, "--anchor", "two"});
  CHECK(run.code == 2);
  CHECK(run.err.find("--anchor cannot be 'two'") != std::string::npos);
}

TEST_CASE("a missing file of receipts is an error", "[store_program][receipts]") {
  const StoreFolder folder;
  const ProgramRun run = run_store_program({"receipts", folder.file("none")});
  CHECK(run.code == 2);
  CHECK(run.err.starts_with("agentcore-store: "));
  CHECK(run.err.find(folder.file("none")) != std::string::npos);
}
