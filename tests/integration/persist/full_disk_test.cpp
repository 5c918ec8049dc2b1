// [G14] A store whose disk is really full: a small file system that the test mounts and fills up.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/small_disk.hpp"
#include "support/store/store_faults.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace agentcore;
using namespace agentcore::test;

namespace {

SmallDisk disk() {
  const char* const folder = std::getenv("AGENTCORE_SMALL_DISK");
  REQUIRE(folder != nullptr);
  return SmallDisk(folder);
}

std::string many(char letter, std::size_t size = 20'000) {
  return std::string(size, letter);
}

// A run whose store is on a disk that is full from now on: agents "a" to "e" have a turn each, and "f" one
// that does not fit.
struct OnFullDisk {
  OnFullDisk() {
    REQUIRE(life.report);
    for (const char* id : {"a", "b", "c", "d", "e"}) {
      life.create(id);
      REQUIRE(life.find(id).send(many(*id, 60'000)));
      life.runtime.run_until_idle();
    }
    REQUIRE(life.tree->flush());
    life.create("f");
    life.find("f").create_child({.id = "child"}).value();
    REQUIRE(life.tree->flush());
    on_disk.fill();
    REQUIRE(failures.empty());
    REQUIRE(life.find("f").send(many('f', 600'000)));
    life.runtime.run_until_idle();
    REQUIRE(failures.size() == 1);
  }
  void poll() {
    for (int i = 0; i < 10; ++i) life.runtime.poll();
  }

  static SmallDisk empty_disk() {
    SmallDisk made = disk();
    made.clear();
    return made;
  }

  SmallDisk on_disk = empty_disk();
  std::vector<Error> failures;
  std::unique_ptr<SqliteStore> store = SqliteStore::open(on_disk.file()).value();
  Life life{*store, {.on_failure = [this](const Error& error) {
              failures.push_back(error);
              return AfterStoreFailure::retry;
            }}};
};

// What the next run finds.
struct Next {
  SmallDisk on_disk = disk();
  std::unique_ptr<SqliteStore> store = SqliteStore::open(on_disk.file()).value();
  Life life{*store};
};

}  // namespace

TEST_CASE("a store on a disk that is really full takes stops and deletes",
          "[persist][sqlite][full][may_skip]") {
  const StoreFolder folder;
  const int code = on_small_disk(folder.file("."), 8, "[.small_disk]");
  if (code == small_disk::not_permitted) {
    WARN("nothing was tested: no file system may be mounted here, not even in a user namespace");
    return;
  }
  CHECK(code == 0);
}

TEST_CASE("growth is refused with an error that names the file and what helps", "[.small_disk]") {
  OnFullDisk run;
  CHECK(run.failures[0].code == Errc::store_full);
  CHECK(run.failures[0].message.starts_with(run.on_disk.file() + ": "));
  CHECK(run.failures[0].message.find("full") != std::string::npos);
  const auto flushed = run.life.tree->flush();
  REQUIRE_FALSE(flushed);
  CHECK(flushed.error().code == Errc::store_full);
  CHECK(run.life.find("f").state().value() == AgentState::idle);  // it goes on in memory
  run.on_disk.make_room();
  CHECK(run.life.tree->flush());
  CHECK(faults_of(*run.store).empty());
}

TEST_CASE("a stop and a delete are stored, and an orderly restart keeps them", "[.small_disk]") {
  {
    OnFullDisk run;
    REQUIRE(run.life.find("f").stop({.reason = "enough"}).took_effect());
    run.poll();
    REQUIRE(run.life.stops.size() == 1);
    CHECK(run.life.stops[0].agent_id == "f");
    REQUIRE(run.life.find("b").terminate().took_effect());
    run.poll();
    REQUIRE(run.life.stops.size() == 2);
    CHECK(run.life.stops[1].deleted);
    REQUIRE(run.life.find("a").stop().took_effect());  // the end of the tree stores this one
  }
  Next next;
  if (!next.life.report) FAIL(next.life.report.error().message);
  CHECK(next.life.find("f").state().value() == AgentState::stopped);
  CHECK(next.life.find("child").state().value() == AgentState::stopped);
  CHECK(next.life.find("a").state().value() == AgentState::stopped);
  CHECK(next.life.find("c").state().value() == AgentState::idle);
  CHECK_FALSE(next.life.tree->find("b"));
  CHECK(faults_of(*next.store).empty());
  CHECK(next.store->check().value().empty());
}

TEST_CASE("a stop that was reported as stored outlives a kill", "[.small_disk]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    OnFullDisk run;
    static_cast<void>(run.life.find("f").stop());
    run.poll();
    ::_exit(run.life.stops.size() == 1 ? 0 : 1);  // no destructor writes anything
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  Next next;
  if (!next.life.report) FAIL(next.life.report.error().message);
  CHECK(next.life.find("f").state().value() == AgentState::stopped);
  CHECK(next.life.find("e").state().value() == AgentState::idle);
}

TEST_CASE("many stops and deletes fit into the reserve", "[.small_disk]") {
  OnFullDisk run;
  for (const char* id : {"a", "b", "c"}) {
    REQUIRE(run.life.find(id).stop().took_effect());
    run.poll();
    REQUIRE(run.life.find(id).resume().took_effect());  // waits: it opens an agent
    run.poll();
    REQUIRE(run.life.find(id).stop().took_effect());
    run.poll();
  }
  for (const char* id : {"c", "d", "e"}) {
    REQUIRE(run.life.find(id).terminate().took_effect());
    run.poll();
  }
  std::size_t deletes = 0;
  for (const StopPersisted& stored : run.life.stops) deletes += stored.deleted ? 1U : 0U;
  CHECK(deletes == 3);
  CHECK(run.life.stops.size() >= 6);
}

TEST_CASE("a copy that does not fit is refused, and nothing of it stays on the disk", "[.small_disk]") {
  OnFullDisk run;
  const StoreFolder elsewhere;
  const auto reader = SqliteStore::open(run.on_disk.file(), {.read_only = true}).value();
  const std::string target = run.on_disk.file("copy.db");
  const auto refused = reader->back_up(target);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::store_full);
  CHECK(refused.error().message.starts_with(target + ": "));
  for (const auto& entry : std::filesystem::directory_iterator(run.on_disk.file(".")))
    CHECK(entry.path().filename().string().find("copy.db") == std::string::npos);
  // Where there is room, it is made, and the owner goes on.
  const std::string copy = elsewhere.file("copy.db");
  REQUIRE(reader->back_up(copy));
  CHECK(SqliteStore::open(copy).value()->check().value().empty());
  run.on_disk.make_room();
  CHECK(run.life.tree->flush());
}

TEST_CASE("what a delete frees, growth gets", "[.small_disk]") {
  {
    OnFullDisk run;
    for (const char* id : {"a", "b", "c", "d", "e"}) REQUIRE(run.life.find(id).terminate().took_effect());
    run.poll();
    CHECK(run.life.stops.size() == 5);
    REQUIRE(run.life.find("f").rewind(1));
    REQUIRE(run.life.find("f").send("short"));
    run.life.runtime.run_until_idle();
    const auto flushed = run.life.tree->flush();
    if (!flushed) FAIL(flushed.error().message);
  }
  Next next;
  if (!next.life.report) FAIL(next.life.report.error().message);
  CHECK(next.life.tree->size() == 2);
  CHECK(Life::texts(next.life.find("f")).front() == "short");
  CHECK(faults_of(*next.store).empty());
}
