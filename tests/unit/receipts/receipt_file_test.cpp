// Receipts of stops in a file: their chain, what breaks it, and what does not.
#include "receipts/hash.hpp"
#include "receipts/receipt_chain.hpp"
#include "receipts/receipt_line.hpp"
#include "support/store/receipts.hpp"
#include "support/store/store_folder.hpp"

#include <filesystem>
#include <stdexcept>

#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

const std::string key = "a secret of the host, 16 bytes or more";

// No file of this process may become larger than that.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : signal_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

// The chain made anew by someone without the key, after a change of the first reason.
std::string forged(const std::string& content) {
  std::string none, problem, prev, result;
  const detail::receipts::ChainHash hash(none);
  for (std::string line : receipt_lines(content)) {
    line.pop_back();
    detail::receipts::Receipt receipt = detail::receipts::receipt_of(line, problem).value();
    const std::size_t reason = receipt.body->find("enough");
    if (receipt.number == 1) receipt.body->replace(reason, 6, "no one");
    receipt.prev = prev;
    receipt.body_hash = detail::receipts::sha256(*receipt.body);
    receipt.hash = prev = detail::receipts::hash_of(receipt, hash);
    result += detail::receipts::line_of(receipt) + "\n";
  }
  return result;
}

}  // namespace

TEST_CASE("a hash is that of the standard", "[receipts]") {
  // FIPS 180-2, appendix B.1, and RFC 4231, test case 6.
  CHECK(detail::receipts::sha256("abc") ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  std::string secret(131, '\xaa');
  const detail::receipts::ChainHash hash(secret);
  CHECK(secret.empty());
  CHECK(hash.of("Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST_CASE("receipts have the records of stops as JSON", "[receipts][X9][X39]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  StopRecord record = stop_record("planner");
  record.caller = "boss";
  record.reason = "too \"slow\"\n\xff";
  record.descendants = {"one", "two"};
  record.abandoned = {"two"};
  record.messages_dropped = 3;
  record.dropped_messages = {MessageId{7}};
  record.discarded = 2;
  record.discarded_deltas = 5;
  const auto file = open_receipts(path);
  file->record(record);
  record.closed.reset();
  file->record(record);
  const json receipts = json::parse(receipts_to_json(path).value());
  REQUIRE(receipts.size() == 2);
  CHECK(receipts[0]["format"] == "agentcore-receipt-1");
  CHECK(receipts[0]["mac"] == "sha256");
  CHECK(receipts[0]["number"] == 1);
  CHECK(receipts[0]["time"] == "2023-11-14T22:13:21.250000Z");
  CHECK(receipts[0]["lost"] == 0);
  CHECK(receipts[0]["prev"] == "");
  CHECK(receipts[1]["prev"] == receipts[0]["hash"]);
  json body = receipts[0]["body"];
  CHECK(body["salt"].get<std::string>().size() == 32);
  CHECK(body["salt"] != receipts[1]["body"]["salt"]);
  body.erase("salt");
  const json operations = json::parse(R"([
    {"kind": "model_call", "agent": "planner", "turn": 3, "call": "", "tool": "", "outcome": "interrupted",
     "cut_ns": null, "tokens_counted": 12, "tokens_reserved": 40},
    {"kind": "tool_call", "agent": "planner", "turn": 3, "call": "call_1", "tool": "search",
     "outcome": "interrupted", "cut_ns": 5000000000, "tokens_counted": 0, "tokens_reserved": 0}])");
  const json called = {{"monotonic_ns", 5'000'000'000}, {"wall", "2023-11-14T22:13:20.000000Z"}};
  CHECK(body == json({{"verb", "stop"},
                      {"tree", 1},
                      {"agent", "planner"},
                      {"below", ""},
                      {"cause", "user"},
                      {"caller", "boss"},
                      {"reason", "too \"slow\"\n\xef\xbf\xbd"},
                      {"cascade", true},
                      {"when", "now"},
                      {"called", called},
                      {"closed", called},
                      {"settled", {{"monotonic_ns", 6'000'000'000}, {"wall", "2023-11-14T22:13:21.250000Z"}}},
                      {"descendants", {{"count", 2}, {"first", {"one", "two"}}}},
                      {"abandoned", {{"count", 1}, {"first", {"two"}}}},
                      {"messages_dropped", {{"count", 3}, {"first", {"m7"}}}},
                      {"operations", {{"count", 2}, {"first", operations}}},
                      {"after_gate", 0},
                      {"discarded", 2},
                      {"discarded_deltas", 5},
                      {"tokens_counted", 12},
                      {"tokens_at_most", 40},
                      {"complete", true}}));
  CHECK(receipts[1]["body"]["closed"] == nullptr);
}

TEST_CASE("a receipt is bounded whatever its record is", "[receipts][G15]") {
  const StoreFolder folder;
  StopRecord record = stop_record("a");
  record.reason = std::string(1'000'000, '\1');
  record.descendants.assign(100'000, std::string(255, '\1'));
  record.abandoned = record.descendants;
  record.operations.assign(5000, {.agent_id = std::string(255, '\1'),
                                  .call_id = std::string(100'000, '\1'),
                                  .tool = std::string(100'000, '\1')});
  open_receipts(folder.file())->record(record);
  CHECK(receipt_content(folder.file()).size() < detail::receipts::max_line_bytes);
  CHECK(verify_receipts(folder.file()).value().intact());
  const json body = json::parse(receipts_to_json(folder.file()).value())[0]["body"];
  CHECK(body["descendants"]["count"] == 100'000);
  CHECK(body["descendants"]["first"].size() == 1000);
  CHECK(body["operations"]["count"] == 5000);
  CHECK(body["reason"].get<std::string>().size() == 1024);
}

TEST_CASE("a time of day is written the same way whatever it is", "[receipts]") {
  using detail::receipts::text_of_time;
  CHECK(text_of_time(WallTime()) == "1970-01-01T00:00:00.000000Z");
  CHECK(text_of_time(WallTime(std::chrono::seconds(1))) == "1970-01-01T00:00:01.000000Z");
  CHECK(text_of_time(WallTime(std::chrono::microseconds(-1))) == "1970-01-01T00:00:00.000000Z");
  CHECK(text_of_time(WallTime(std::chrono::microseconds(1'709'251'199'999'999))) ==
        "2024-02-29T23:59:59.999999Z");
  CHECK(text_of_time(WallTime::max()).size() == 27);
  CHECK(text_of_time(WallTime::min()) == "1970-01-01T00:00:00.000000Z");
}

TEST_CASE("a chain goes on when its file is opened again", "[receipts]") {
  const StoreFolder folder;
  const std::string secret = GENERATE(std::string(), key);
  write_receipts(folder.file(), {"a", "b"}, secret);
  const ReceiptAnchor last = write_receipts(folder.file(), {"c"}, secret);
  CHECK(last.number == 3);
  const ReceiptCheck check = verify_receipts(folder.file(), {.key = secret, .anchor = last}).value();
  CHECK(check.intact());
  CHECK(check.records == 3);
  CHECK(check.erased == 0);
  CHECK(check.lost == 0);
  CHECK(check.torn_bytes == 0);
  CHECK(check.last.hash == last.hash);
  CHECK(check.line == 0);
}

TEST_CASE("the file belongs to its user alone", "[receipts]") {
  const StoreFolder folder;
  write_receipts(folder.file(), {"a"});
  struct stat status {};
  REQUIRE(::stat(folder.file().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("each flipped bit of a file of receipts is noticed", "[receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const std::string secret = GENERATE(std::string(), key);
  const ReceiptAnchor last = write_receipts(path, {"a", "b"}, secret);
  CHECK(open_receipts(path, {.key = secret})->erase_agent("b").value() == 1);
  const std::string content = receipt_content(path);
  std::size_t unnoticed = 0;
  for (std::size_t at = 0; at < content.size(); ++at) {
    std::string changed = content;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 8)));
    set_receipt_content(path, changed);
    const ReceiptCheck check = verify_receipts(path, {.key = secret, .anchor = last}).value();
    unnoticed += check.intact();
  }
  CHECK(content.size() > 1000);
  CHECK(unnoticed == 0);
}

TEST_CASE("the first wrong receipt is named with what is wrong", "[receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const ReceiptAnchor last = write_receipts(path, {"a", "b", "c", "d"});
  const std::vector<std::string> lines = receipt_lines(receipt_content(path));
  const auto check_of = [&](const std::vector<std::string>& changed) {
    set_receipt_content(path, joined_receipts(changed));
    return verify_receipts(path, {.anchor = last}).value();
  };
  std::vector<std::string> changed = lines;
  SECTION("a changed body") {
    changed[2].replace(changed[2].find("enough"), 6, "no one");
    const ReceiptCheck check = check_of(changed);
    CHECK(check.line == 3);
    CHECK(check.records == 2);
    CHECK(check.last.number == 2);
    CHECK(check.problem == "has a body that was changed");
  }
  SECTION("a changed time") {
    changed[1].replace(changed[1].find("2023"), 4, "2024");
    CHECK(check_of(changed).problem == "was changed");
    CHECK(check_of(changed).line == 2);
  }
  SECTION("any other member that is changed, or written in another way") {
    const std::string& second = lines[1];
    const auto member = [&](const std::string& name) {
      return second.find("\"" + name + "\":") + name.size() + 3;
    };
    const auto with = [&](std::size_t at, std::size_t size, const std::string& text) {
      std::string line = second;
      changed[1] = line.replace(at, size, text);
      const ReceiptCheck check = check_of(changed);
      CAPTURE(changed[1]);
      CHECK(check.line == 2);
      CHECK(check.records == 1);
      return check.problem;
    };
    CHECK(with(member("lost"), 1, "1") == "was changed");
    CHECK(with(member("hash") + 1, 1, second[member("hash") + 1] == '0' ? "1" : "0") == "was changed");
    CHECK(with(member("body_hash") + 1, 1, second[member("body_hash") + 1] == '0' ? "1" : "0") ==
          "has a body that was changed");
    CHECK(with(member("mac") + 1, 6, "sha512") == "has an unknown hash function");
    for (const std::string number : {"number", "lost"})
      for (const std::string before : {"0", "+", " "})
        CHECK(with(member(number), 0, before).starts_with("is not a receipt: a number is expected at byte"));
  }
  SECTION("a removed receipt") {
    changed.erase(changed.begin() + 1);
    CHECK(check_of(changed).line == 2);
    CHECK(check_of(changed).problem == "has the number 3 and not 2: receipts were removed, added or moved");
  }
  SECTION("a receipt twice") {
    changed.insert(changed.begin() + 1, changed[1]);
    CHECK(check_of(changed).line == 3);
  }
  SECTION("receipts that change places") {
    std::swap(changed[1], changed[2]);
    CHECK(check_of(changed).line == 2);
  }
  SECTION("receipts that are missing at the end") {
    changed.pop_back();
    CHECK(check_of(changed).line == 0);
    CHECK(check_of(changed).problem ==
          "receipt 4 of the anchor is missing: receipts were removed at the end");
    CHECK(verify_receipts(path).value().intact());  // without an anchor nothing shows that
  }
  SECTION("a receipt of another file") {
    const std::string other = folder.file("other");
    write_receipts(other, {"a", "b"});
    changed[1] = receipt_lines(receipt_content(other))[1];
    CHECK(check_of(changed).problem == "does not follow the receipt before it, or that one was changed");
  }
  SECTION("another chain of the same length") {
    set_receipt_content(path, forged(joined_receipts(lines)));
    const ReceiptCheck check = verify_receipts(path, {.anchor = last}).value();
    CHECK(check.problem == "receipt 4 is not that of the anchor: the file was made anew");
    CHECK(verify_receipts(path).value().intact());
  }
  SECTION("something else") {
    changed[3] = "{\"format\":\"agentcore-receipt-2\"}\n";
    CHECK(check_of(changed).problem ==
          "is not a receipt: {\"format\":\"agentcore-receipt-1\",\"mac\":\" is expected at byte 1");
  }
  SECTION("a line without an end") {
    changed[3] = std::string(detail::receipts::max_line_bytes + 2, 'x');
    CHECK(check_of(changed).line == 4);
    CHECK(check_of(changed).problem == "has more than 16777216 bytes");
  }
}

TEST_CASE("with a key a chain that was made without it is noticed", "[receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  write_receipts(path, {"a", "b"}, key);
  const std::string content = receipt_content(path);
  CHECK(verify_receipts(path, {.key = key}).value().intact());
  CHECK(verify_receipts(path).value().problem == "was made with a key; give the key");
  CHECK(verify_receipts(path, {.key = key + "!"}).value().problem == "was changed, or made with another key");
  // The forger cannot compute the hashes with the key, whatever function the file names.
  set_receipt_content(path, forged(content));
  CHECK(verify_receipts(path, {.key = key}).value().problem == "was changed, or made with another key");
  std::string named = forged(content);
  for (std::size_t at = named.find("hmac-sha256"); at != named.npos; at = named.find("hmac-sha256"))
    named.replace(at, 11, "sha256");
  set_receipt_content(path, named);
  CHECK(verify_receipts(path, {.key = key}).value().problem == "was made without a key");
  CHECK(content.find("secret") == content.npos);
}

TEST_CASE("a body that is erased leaves a chain that verifies", "[receipts][X9]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const auto file = open_receipts(path, {.key = key});
  file->record(stop_record("a"));
  StopRecord cascade = stop_record("b");
  cascade.descendants = {"a"};
  file->record(cascade);
  StopRecord called = stop_record("c");
  called.caller = "a";
  file->record(called);
  StopRecord worded = stop_record("c");
  worded.reason = "a";  // a text, no id
  worded.operations[1].tool = "a";
  file->record(worded);
  CHECK(file->erase_agent("nobody").value() == 0);
  CHECK(file->erase_agent("a").value() == 3);
  CHECK(file->erase_agent("a").value() == 0);
  file->record(stop_record("d"));
  const ReceiptCheck check = verify_receipts(path, {.key = key, .anchor = file->last()}).value();
  CHECK(check.intact());
  CHECK(check.records == 5);
  CHECK(check.erased == 3);
  const json receipts = json::parse(receipts_to_json(path).value());
  CHECK(receipts[0]["body"] == nullptr);
  CHECK(receipts[1]["body"] == nullptr);
  CHECK(receipts[2]["body"] == nullptr);
  CHECK(receipts[3]["body"]["agent"] == "c");
  CHECK(receipt_content(path).find("\"b\"") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(path + "-new"));
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
}

TEST_CASE("a body is erased wherever it has the id of the agent, and nowhere else", "[receipts][X9]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const auto file = open_receipts(path);
  const auto record = [&](auto&& change) {
    StopRecord one = stop_record("other");
    change(one);
    file->record(one);
  };
  record([](StopRecord& one) { one.agent_id = "gone"; });
  record([](StopRecord& one) { one.below = "gone"; });
  record([](StopRecord& one) { one.caller = "gone"; });
  record([](StopRecord& one) { one.descendants = {"x", "gone"}; });
  record([](StopRecord& one) { one.abandoned = {"x", "gone"}; });
  record([](StopRecord& one) { one.operations[1].agent_id = "gone"; });
  const std::size_t named = file->last().number;
  record([](StopRecord& one) { one.agent_id = "gone too"; });
  record([](StopRecord& one) { one.reason = "gone"; });
  record([](StopRecord& one) { one.operations[1].tool = one.operations[1].call_id = "gone"; });
  CHECK(file->erase_agent("gone").value() == named);
  const json receipts = json::parse(receipts_to_json(path).value());
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    CAPTURE(i);
    CHECK(receipts[i]["body"].is_null() == (i < named));
  }
}

TEST_CASE("a delete erases the earlier receipts of its agents if that is wanted", "[receipts][X9]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const bool forgets = GENERATE(true, false);
  const auto file = open_receipts(path, {.forget_deleted = forgets});
  file->record(stop_record("a"));
  file->record(stop_record("b"));
  file->record(stop_record("leaf"));
  StopRecord record = delete_record("a");
  record.descendants = {"leaf"};
  file->record(record);
  const json receipts = json::parse(receipts_to_json(path).value());
  CHECK(receipts[0]["body"].is_null() == forgets);
  CHECK_FALSE(receipts[1]["body"].is_null());
  CHECK(receipts[2]["body"].is_null() == forgets);
  CHECK(receipts[3]["body"]["verb"] == "terminate");
  CHECK(verify_receipts(path).value().intact());
}

TEST_CASE("a receipt that a crash has cut off is removed and reported", "[receipts][G14]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const ReceiptAnchor last = write_receipts(path, {"a"});
  const std::string first = receipt_content(path);
  write_receipts(path, {"b"});
  const std::string both = receipt_content(path);
  for (std::size_t size = first.size(); size < both.size(); ++size) {
    set_receipt_content(path, both.substr(0, size));
    INFO(size);
    const ReceiptCheck check = verify_receipts(path, {.anchor = last}).value();
    CHECK(check.intact());
    CHECK(check.torn_bytes == size - first.size());
    CHECK(json::parse(receipts_to_json(path).value()).size() == 1);
    if (size % 50 != 0 && size != first.size() + 1) continue;
    const auto file = open_receipts(path);
    CHECK(file->torn_bytes() == size - first.size());
    CHECK(receipt_content(path) == first);
    file->record(stop_record("c"));
    CHECK(file->last().number == 2);
    CHECK(verify_receipts(path).value().records == 2);
    CHECK(verify_receipts(path).value().intact());
  }
}

TEST_CASE("a second writer of receipts is refused until the first is gone", "[receipts]") {
  const StoreFolder folder;
  auto file = open_receipts(folder.file());
  CHECK(ReceiptFile::open(folder.file()).error().code == Errc::store_in_use);
  CHECK(file->erase_agent("a").value() == 0);
  file->record(stop_record("a"));
  CHECK(file->erase_agent("a").value() == 1);  // the file is another one, its lock is not
  CHECK(ReceiptFile::open(folder.file()).error().code == Errc::store_in_use);
  file.reset();
  CHECK(ReceiptFile::open(folder.file()).has_value());
}

TEST_CASE("a receipt that cannot be written is lost and the next one says so", "[receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  std::vector<Errc> errors;
  const auto file = open_receipts(path, {.on_error = [&](const Error& error) {
                                    errors.push_back(error.code);
                                    throw std::runtime_error("ignored");
                                  }});
  file->record(stop_record("a"));
  const std::string before = receipt_content(path);
  {
    const FileSizeLimit limit(before.size() + 100);  // a part of the line is written
    CHECK_THROWS_AS(file->record(stop_record("b")), std::runtime_error);
    CHECK_THROWS_AS(file->record(stop_record("b")), std::runtime_error);
  }
  CHECK(errors == std::vector<Errc>{Errc::store_full, Errc::store_full});
  CHECK(file->last_error().code == Errc::store_full);
  CHECK(receipt_content(path) == before);
  file->record(stop_record("c"));
  file->record(stop_record("d"));
  const ReceiptCheck check = verify_receipts(path).value();
  CHECK(check.intact());
  CHECK(check.records == 3);
  CHECK(check.lost == 2);
  CHECK(file->last().number == 3);
}

TEST_CASE("an erasure that cannot be written changes nothing", "[receipts]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const auto file = open_receipts(path);
  file->record(stop_record("a"));
  file->record(stop_record("b"));
  const std::string before = receipt_content(path);
  {
    const FileSizeLimit limit(500);
    CHECK(file->erase_agent("a").error().code == Errc::store_full);
  }
  CHECK(receipt_content(path) == before);
  CHECK_FALSE(std::filesystem::exists(path + "-new"));
  set_receipt_content(path + "-new", "left by a crash");
  CHECK(file->erase_agent("a").value() == 1);
  CHECK(verify_receipts(path).value().intact());
}

TEST_CASE("a file of receipts has at most the bytes that its host allows", "[receipts][G15]") {
  const StoreFolder folder;
  const auto file = open_receipts(folder.file(), {.max_bytes = 3000});
  std::size_t refused = 0;
  for (int i = 0; i < 10; ++i) try {
      file->record(stop_record("a"));
    } catch (const std::runtime_error&) {
      ++refused;
    }
  CHECK(refused > 5);
  CHECK(refused < 10);
  CHECK(std::filesystem::file_size(folder.file()) <= 3000);
  CHECK(verify_receipts(folder.file()).value().intact());
}

TEST_CASE("a receipt that fits exactly is taken", "[receipts][G15]") {
  const StoreFolder folder;
  write_receipts(folder.file("unlimited"), {"a"});
  const auto bytes = std::filesystem::file_size(folder.file("unlimited"));
  const auto fits = [&](std::uint64_t most) {
    const std::string path = folder.file(std::to_string(most));
    const auto file = open_receipts(path, {.max_bytes = most});
    try {
      file->record(stop_record("a"));
    } catch (const std::runtime_error&) {
      CHECK(file->last_error().code == Errc::store_full);
    }
    CHECK(std::filesystem::file_size(path) == (file->last().number == 1 ? bytes : 0));
    return file->last().number == 1;
  };
  CHECK(fits(bytes));
  CHECK_FALSE(fits(bytes - 1));
}

TEST_CASE("a key has 16 to 4096 bytes", "[receipts]") {
  const StoreFolder folder;
  const auto code_of = [&](std::size_t size) {
    const auto file = ReceiptFile::open(folder.file(std::to_string(size)), {.key = std::string(size, 'k')});
    const auto check = verify_receipts(folder.file(std::to_string(size)), {.key = std::string(size, 'k')});
    CHECK((file ? Errc::none : file.error().code) == (check ? Errc::none : check.error().code));
    return file ? Errc::none : file.error().code;
  };
  for (const std::size_t size : {0U, 16U, 17U, 4096U}) CHECK(code_of(size) == Errc::none);
  for (const std::size_t size : {1U, 15U, 4097U}) CHECK(code_of(size) == Errc::invalid_config);
}

TEST_CASE("a path that is no file of receipts is refused at once", "[receipts][files]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const bool is_pipe = GENERATE(true, false);
  if (is_pipe)
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  else
    std::filesystem::create_directory(path);
  // A pipe would wait for its other end, and take receipts that nobody keeps.
  const auto error_of = [](const auto& result) { return result ? Error{} : result.error(); };
  for (const Error& error : {error_of(ReceiptFile::open(path)), error_of(verify_receipts(path)),
                             error_of(receipts_to_json(path))}) {
    CHECK(error.code == Errc::store_unavailable);
    CHECK(error.message.starts_with(path));
  }
}

TEST_CASE("receipts that wait for the disk are the same", "[receipts]") {
  const StoreFolder folder;
  const auto file = open_receipts(folder.file(), {.sync = StoreSync::disk});
  file->record(stop_record("a"));
  CHECK(verify_receipts(folder.file(), {.anchor = file->last()}).value().intact());
  CHECK(file->last_error().code == Errc::none);
}

TEST_CASE("receipts that were lost before a kill are told by the next process", "[receipts][lost][G14]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const StoreSync sync = GENERATE(StoreSync::process, StoreSync::disk);
  {
    const auto file = open_receipts(path, {.sync = sync});
    file->record(stop_record("a"));
    const FileSizeLimit limit(receipt_content(path).size() + 100);
    CHECK_THROWS_AS(file->record(stop_record("b")), std::runtime_error);
    CHECK_THROWS_AS(file->record(stop_record("b")), std::runtime_error);
  }
  open_receipts(path);  // a process that records nothing forgets nothing
  open_receipts(path)->record(stop_record("c"));
  CHECK(verify_receipts(path).value().lost == 2);
  open_receipts(path)->record(stop_record("d"));
  const ReceiptCheck check = verify_receipts(path).value();
  CHECK(check.intact());
  CHECK(check.records == 3);
  CHECK(check.lost == 2);  // they are told once
  // A file of another form says nothing.
  set_receipt_content(path + "-lost", "many");
  open_receipts(path)->record(stop_record("e"));
  CHECK(verify_receipts(path).value().lost == 2);
}

TEST_CASE("a file of receipts that is gone does not swallow receipts in silence", "[receipts][files]") {
  const StoreFolder folder;
  const std::string path = folder.file();
  const std::string how = GENERATE("removed", "replaced", "truncated");
  CAPTURE(how);
  std::vector<Errc> errors;
  const auto file =
      open_receipts(path, {.on_error = [&](const Error& error) { errors.push_back(error.code); }});
  file->record(stop_record("a"));
  const std::string content = receipt_content(path);
  std::filesystem::rename(path, path + "-away");
  if (how == "replaced") set_receipt_content(path, content);
  if (how == "truncated") {
    std::filesystem::rename(path + "-away", path);
    std::filesystem::resize_file(path, content.size() - 1);
  }
  CHECK_THROWS_AS(file->record(stop_record("b")), std::runtime_error);
  CHECK(errors == std::vector<Errc>{how == "truncated" ? Errc::store_corrupt : Errc::store_unavailable});
  CHECK(file->last_error().message.find("was " + how) != std::string::npos);
  CHECK(file->last().number == 1);
  CHECK_FALSE(file->erase_agent("a").has_value());
  if (how == "truncated")
    set_receipt_content(path, content);
  else
    std::filesystem::rename(path + "-away", path);
  file->record(stop_record("c"));
  const ReceiptCheck check = verify_receipts(path).value();
  CHECK(check.intact());
  CHECK(check.records == 2);
  CHECK(check.lost == 1);
}

TEST_CASE("a second writer of receipts does not get in by the removal of the lock file",
          "[receipts][files]") {
  const StoreFolder folder;
  auto file = open_receipts(folder.file());
  file->record(stop_record("a"));
  if (GENERATE(false, true)) CHECK(file->erase_agent("a").value() == 1);  // it is another file then
  std::filesystem::remove(folder.file() + "-lock");
  CHECK(ReceiptFile::open(folder.file()).error().code == Errc::store_in_use);
  file->record(stop_record("b"));
  file.reset();
  CHECK(open_receipts(folder.file())->last().number == 2);
}
