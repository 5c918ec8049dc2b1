// agentcore-store backup: the copy of a store that its owner goes on to write.
#include "integration/store_program/team.hpp"
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_program.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::amount;
using agentcore::test::Life;
using agentcore::test::ProgramRun;
using agentcore::test::run_store_program;
using agentcore::test::StoreFolder;
using agentcore::test::Team;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool has_partial_file(const std::string& folder) {
  const std::vector<std::string> names = files_in(folder);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.find("-partial-") != std::string::npos; });
}

std::string content_of(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void check_refused(const std::vector<std::string>& arguments, const std::string& says) {
  const ProgramRun run = run_store_program(arguments);
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("agentcore-store: "));
  CHECK(run.err.find(says) != std::string::npos);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
}

// The owner of a store of some 20 MB: in each of its polls it sends a message to "one" and to "two", so that
// each commit has as many messages of the one as of the other. Reports each commit over the pipe, by a byte.
[[noreturn]] void own(const std::string& file, int pipe) {
  auto store = SqliteStore::open(file);
  if (!store) ::_exit(2);
  Life life(**store, {.durability = Durability::each_message, .sync = StoreSync::process});
  if (!life.report) ::_exit(3);
  for (int i = 0; i < 70; ++i)
    life.create("large " + std::to_string(i), {.system_prompt = std::string(300'000, 'x')});
  const Agent one = life.create("one"), two = life.create("two");
  if (!one.pause().took_effect() || !two.pause().took_effect()) ::_exit(4);
  for (;;) {
    if (one.queue_length().value() >= 100) {
      static_cast<void>(one.drop_queue());
      static_cast<void>(two.drop_queue());
    }
    if (!one.send(std::string(2000, 'a')) || !two.send(std::string(2000, 'b'))) ::_exit(5);
    const std::size_t stored = life.messages.size();
    while (life.messages.size() == stored) life.runtime.poll();
    life.messages.clear();
    if (::write(pipe, "c", 1) != 1) ::_exit(6);
  }
}

// A process that owns a store, and is killed at the end.
class Owner {
 public:
  explicit Owner(const std::string& file) {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) own(file, ends[1]);
    ::close(ends[1]);
    reports_ = ends[0];
  }
  ~Owner() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    ::close(reports_);
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  // Waits for one commit that was reported, and takes what else there is. Returns their number.
  std::size_t commits() const {
    std::array<char, 4096> bytes{};
    const ssize_t count = ::read(reports_, bytes.data(), bytes.size());
    REQUIRE(count > 0);
    return static_cast<std::size_t>(count);
  }

 private:
  pid_t process_ = -1;
  int reports_ = -1;
};

}  // namespace

TEST_CASE("a store is copied while its owner commits, and each copy is one state of it",
          "[store_program][backup][sqlite][G14]") {
  const StoreFolder folder;
  const Owner owner(folder.file());
  static_cast<void>(owner.commits());
  std::size_t most_during = 0;
  for (int i = 0; i < amount(6, 2) || (i < 200 && most_during < 2); ++i) {
    const std::string copy = folder.file("copy " + std::to_string(i));
    while (owner.commits() == 4096) continue;
    const ProgramRun run = run_store_program({"backup", folder.file(), copy});
    INFO(run.err);
    REQUIRE(run.code == 0);
    CHECK(run.out == folder.file() + ": " + std::to_string(std::filesystem::file_size(copy)) +
                         " bytes copied to " + copy + "\n");
    most_during = std::max(most_during, owner.commits());  // the owner is not held up, and goes on
    CHECK(run_store_program({"check", copy}).out == copy + ": intact\n");
    struct stat status {};
    REQUIRE(::stat(copy.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777U) == 0600U);
    {
      const auto store = SqliteStore::open(copy).value();
      Life life(*store);
      REQUIRE(life.report);
      CHECK(life.tree->size() == 72);
      const std::size_t waiting = life.find("one").queue_length().value();
      CHECK(waiting > 0);
      CHECK(life.find("two").queue_length().value() == waiting);
      CHECK(life.find("large 69").exists());
      // It is a store of its own.
      REQUIRE(life.find("two").send("more"));
      REQUIRE(life.tree->flush());
    }
    std::filesystem::remove(copy);
  }
  CHECK(most_during > 1);
  CHECK_FALSE(has_partial_file(folder.file(".")));
}

TEST_CASE("a copy has all that the program shows of the store", "[store_program][backup]") {
  const StoreFolder folder;
  const std::string copy = folder.file("copy.db");
  const bool is_owned = GENERATE(true, false);
  const auto backup = [&] {
    const ProgramRun run = run_store_program({"backup", folder.file(), copy});
    INFO(run.err);
    REQUIRE(run.code == 0);
  };
  {
    Team team(folder.file());
    if (is_owned) backup();
  }
  if (!is_owned) backup();
  for (const char* const id : {"planner", "helper", "writer", "voice", "thinker"})
    CHECK(run_store_program({"show", "--json", copy, id}).out ==
          run_store_program({"show", "--json", folder.file(), id}).out);
  CHECK(run_store_program({"check", copy}).code == 0);
}

TEST_CASE("a target that exists is kept, and replaced on demand when no store writes it",
          "[store_program][backup]") {
  const StoreFolder folder;
  const std::string copy = folder.file("copy.db");
  { Team team(folder.file()); }
  const auto owner = SqliteStore::open(folder.file()).value();
  SECTION("a file") {
    std::ofstream(copy) << "mine";
    check_refused({"backup", folder.file(), copy}, copy + ": the file exists; name another one");
    CHECK(content_of(copy) == "mine");
    CHECK(run_store_program({"backup", "--force", folder.file(), copy}).code == 0);
  }
  SECTION("what SQLite has left beside a file that is gone") {
    std::ofstream(copy + "-wal") << "old";
    check_refused({"backup", folder.file(), copy}, copy + "-wal: the file exists");
    CHECK(run_store_program({"backup", "--force", folder.file(), copy}).code == 0);
  }
  SECTION("another store, which was not closed") {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      auto store = SqliteStore::open(copy);
      StoreBatch batch;
      batch.put({9, 9, 9}, std::string(50'000, 'o'));
      ::_exit(store && (*store)->commit(batch, StoreSync::process) ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(status == 0);
    REQUIRE(std::filesystem::file_size(copy + "-wal") > 0);
    CHECK(run_store_program({"backup", "--force", folder.file(), copy}).code == 0);
  }
  SECTION("a store that is in use") {
    {
      const auto store = SqliteStore::open(copy).value();
      check_refused({"backup", "--force", folder.file(), copy}, "another store");
      StoreBatch batch;
      batch.put({1, 1, 1}, "still here");
      CHECK(store->commit(batch, StoreSync::process));
    }
    CHECK(run_store_program({"backup", "--force", folder.file(), copy}).code == 0);
  }
  CHECK(run_store_program({"check", copy}).out == copy + ": intact\n");
  CHECK(run_store_program({"show", copy, "planner"}).code == 0);
  CHECK_FALSE(has_partial_file(folder.file(".")));
}

TEST_CASE("a backup that cannot be made says why and leaves nothing", "[store_program][backup]") {
  const StoreFolder folder;
  { Team team(folder.file()); }
  SECTION("into a folder that does not exist") {
    const std::string copy = folder.file("none/copy.db");
    check_refused({"backup", folder.file(), copy},
                  copy + ": No such file or directory; check that the path names a file");
  }
  SECTION("into a file as if it were a folder") {
    check_refused({"backup", folder.file(), folder.file() + "/copy.db"}, "Not a directory");
  }
  SECTION("where nobody may write") {
    check_refused({"backup", folder.file(), "/proc/copy.db"}, "/proc/copy.db: ");
  }
  SECTION("as a folder") {
    check_refused({"backup", "--force", folder.file(), folder.file(".")}, "is a folder; give the path");
  }
  SECTION("onto itself") {
    check_refused({"backup", folder.file(), folder.file()}, "cannot be the store itself");
    check_refused({"backup", "--force", folder.file(), folder.file("./agents.db")},
                  "cannot be the store itself");
  }
  SECTION("of a damaged file") {
    const std::uintmax_t size = std::filesystem::file_size(folder.file());
    std::filesystem::resize_file(folder.file(), size - size / 2);
    check_refused({"backup", folder.file(), folder.file("copy.db")}, folder.file() + ": ");
  }
  // A reader of a store leaves its log; nothing has the name of the copy.
  for (const std::string& name : files_in(folder.file("."))) CHECK(name.starts_with("agents.db"));
  CHECK_FALSE(has_partial_file(folder.file(".")));
}
