// A process that writes a store is killed at any instant. What it had reported as committed is there.
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/sqlite_store.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using agentcore::test::records_of;
using agentcore::test::StoredRecords;
using agentcore::test::StoreFolder;

namespace {

constexpr std::uint64_t kept = 20;  // numbers that are not erased again

// The child: commits numbers from `next` on, each in three kinds, and reports each over the pipe afterwards.
[[noreturn]] void write_until_killed(const std::string& path, int pipe, std::uint64_t next, StoreSync sync) {
  auto store = SqliteStore::open(path);
  if (!store) ::_exit(2);
  for (;; ++next) {
    StoreBatch batch;
    for (std::uint64_t kind = 1; kind <= 3; ++kind)
      batch.put({kind, 1, next}, std::string(300 * kind, static_cast<char>('a' + next % 26)));
    if (next >= kept)
      for (std::uint64_t kind = 1; kind <= 3; ++kind) batch.erase({kind, 1, next - kept});
    if (!(*store)->commit(batch, sync)) ::_exit(3);
    if (::write(pipe, &next, sizeof next) != sizeof next) ::_exit(4);
  }
}

// Reads a report; false at the end of the pipe.
bool read_report(int pipe, std::uint64_t& number) {
  return ::read(pipe, &number, sizeof number) == sizeof number;
}

// "" if the store has what was reported, each number in all kinds, and nothing that was erased.
std::string problem_of(SqliteStore& store, std::uint64_t reported, std::uint64_t& newest) {
  const StoredRecords records = records_of(store);
  if (records.empty()) return "no records";
  newest = records.rbegin()->first.number;
  if (newest < reported) return "a reported batch is missing";
  if (newest > reported + 1) return "more than the one batch that was in progress";
  const std::uint64_t oldest = newest < kept ? 0 : newest - kept + 1;
  if (records.size() != 3 * (newest - oldest + 1)) return "too many or too few records";
  for (const auto& [key, body] : records) {
    const std::string expected(300 * key.kind, static_cast<char>('a' + key.number % 26));
    if (key.number < oldest || body != expected) return "a wrong record";
  }
  const auto damage = store.check();
  return damage && damage->empty() ? "" : "the file is damaged";
}

void kill_and_check(int kills, StoreSync sync) {
  const StoreFolder folder;
  std::mt19937 random(static_cast<unsigned>(kills));
  std::uint64_t next = 0;
  for (int kill = 0; kill < kills; ++kill) {
    std::array<int, 2> pipe{};
    REQUIRE(::pipe(pipe.data()) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      ::close(pipe[0]);
      write_until_killed(folder.file(), pipe[1], next, sync);
    }
    ::close(pipe[1]);
    std::uint64_t reported = next;
    bool alive = true;
    const auto reports = std::uniform_int_distribution<int>(1, 40)(random);
    for (int report = 0; alive && report < reports; ++report) alive = read_report(pipe[0], reported);
    const auto instant = std::chrono::steady_clock::now() +
                         std::chrono::microseconds(std::uniform_int_distribution<int>(0, 2000)(random));
    while (std::chrono::steady_clock::now() < instant) {
    }
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    while (alive && read_report(pipe[0], reported)) {
    }
    ::close(pipe[0]);
    INFO("kill " << kill << ", status " << status);
    REQUIRE(alive);
    REQUIRE(WIFSIGNALED(status));
    std::uint64_t newest = 0;
    const auto store = SqliteStore::open(folder.file()).value();  // the lock has gone with the process
    REQUIRE(problem_of(*store, reported, newest) == "");
    next = newest + 1;
  }
}

}  // namespace

TEST_CASE("what a store has committed survives the end of its process by SIGKILL", "[store][sqlite]") {
  kill_and_check(15, StoreSync::process);
  kill_and_check(15, StoreSync::disk);
}

// On purpose: test_integration '[.kills]'
TEST_CASE("thousands of processes that write a store are killed", "[.kills][store]") {
  kill_and_check(2000, StoreSync::process);
  kill_and_check(1000, StoreSync::disk);
}
