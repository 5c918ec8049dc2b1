// agentcore-store on files that are damaged, missing, foreign or hostile.
#include "integration/store_program/team.hpp"
#include "support/catch.hpp"
#include "support/store/store_folder.hpp"
#include "support/store/store_program.hpp"

#include <agentcore/sqlite_store.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sqlite3.h>

using namespace agentcore;
using agentcore::test::Life;
using agentcore::test::ProgramRun;
using agentcore::test::run_store_program;
using agentcore::test::StoreFolder;
using agentcore::test::Team;

namespace {

void put(const std::string& file, const RecordKey& key, std::string body) {
  const auto store = SqliteStore::open(file).value();
  StoreBatch batch;
  batch.put(key, std::move(body));
  store->commit(batch, StoreSync::process).value();
}

// The error is one line, and says what happened.
void check_error(const ProgramRun& run, const std::string& says) {
  INFO(run.err);
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(run.err.starts_with("agentcore-store: "));
  CHECK(run.err.find(says) != std::string::npos);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.back() == '\n');
}

bool is_tame(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) < 0x20 && byte != '\n') || byte == 0x7f || byte == '\x9b';
  });
}

}  // namespace

TEST_CASE("no text of a store reaches the terminal raw", "[store_program]") {
  const StoreFolder folder;
  const std::string evil = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e\r";
  {
    auto store = SqliteStore::open(folder.file()).value();
    Life life(*store, {.durability = Durability::each_message});
    AgentSpec spec{.system_prompt = evil, .model = {.name = evil}};
    spec.code.tools = "";
    const Agent agent = life.create(evil, std::move(spec));
    testing::ScriptedReply reply;
    reply.deltas = {evil};
    life.llm.enqueue(reply);
    REQUIRE(agent.send(evil));
    life.runtime.run_until_idle();
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.send({.text = evil, .sender = evil, .parts = {{.url = evil}}, .kind = evil}));
    life.runtime.poll();
  }
  const std::vector<std::vector<std::string>> all{{"list", folder.file()},
                                                  {"list", "--json", folder.file()},
                                                  {"show", folder.file(), evil},
                                                  {"show", "--json", folder.file(), evil},
                                                  {"show", folder.file(), evil + "x"},
                                                  {evil},
                                                  {"list", folder.file(evil)}};
  for (const auto& arguments : all) {
    const ProgramRun run = run_store_program(arguments);
    INFO(run.out + run.err);
    CHECK((run.out + run.err).find("owned") != std::string::npos);
    CHECK(is_tame(run.out));
    CHECK(is_tame(run.err));
  }
}

TEST_CASE("a record with hostile text is an error on one line", "[store_program]") {
  const StoreFolder folder;
  Team(folder.file());
  put(folder.file(), {3, 1, 0}, "{\"node\":\"\x1b[2J\n\",");
  const ProgramRun run = run_store_program({"list", folder.file()});
  check_error(run, "the agent record 1 cannot be read");
  CHECK(is_tame(run.err));
}

TEST_CASE("a file that cannot be opened is an error with its path and what to do", "[store_program]") {
  const StoreFolder folder;
  std::vector<std::string> arguments{GENERATE("list", "show", "check", "backup", "vacuum"), folder.file()};
  if (arguments[0] == "show") arguments.emplace_back("planner");
  if (arguments[0] == "backup") arguments.push_back(folder.file("copy.db"));
  SECTION("it is missing") {
    check_error(run_store_program(arguments),
                folder.file() + ": No such file or directory; check that the path");
    CHECK_FALSE(std::filesystem::exists(folder.file()));
    CHECK_FALSE(std::filesystem::exists(folder.file() + "-lock"));
  }
  SECTION("it is a folder") {
    std::filesystem::create_directory(folder.file());
    check_error(run_store_program(arguments), folder.file() + " is a folder; give the path of a file");
  }
  SECTION("it is of a newer version") {
    Team(folder.file());
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(folder.file().c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    check_error(run_store_program(arguments), folder.file() + ": a newer version of agentcore has written");
  }
  SECTION("it is of another program") {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(folder.file().c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "CREATE TABLE songs (title)", nullptr, nullptr, nullptr) == SQLITE_OK);
    sqlite3_close(database);
    check_error(run_store_program(arguments),
                folder.file() + ": the file is an SQLite database of another program");
  }
}

TEST_CASE("agents of a newer format are an error", "[store_program]") {
  const StoreFolder folder;
  Team(folder.file());
  put(folder.file(), {1, 0, 0}, R"({"format":99})");
  check_error(run_store_program({"list", folder.file()}),
              folder.file() + ": the store has agents in format 99");
}

TEST_CASE("an agent that is not there is an error that says how to find one", "[store_program]") {
  const StoreFolder folder;
  Team(folder.file());
  check_error(run_store_program({"show", folder.file(), "nobody"}),
              "there is no agent 'nobody'; see: agentcore-store list");
}

TEST_CASE("check finds damage of a file and of what is in it", "[store_program]") {
  const StoreFolder folder;
  Team(folder.file());
  ProgramRun run = run_store_program({"check", folder.file()});
  CHECK(run.code == 0);
  CHECK(run.out == folder.file() + ": intact\n");
  SECTION("an agent without its parent") {
    auto store = SqliteStore::open(folder.file()).value();
    StoreBatch batch;
    batch.erase({3, 1, 0});
    store->commit(batch, StoreSync::process).value();
    run = run_store_program({"check", folder.file()});
    CHECK(run.out.find("has no parent") != std::string::npos);
  }
  SECTION("a message of a conversation is missing") {
    auto store = SqliteStore::open(folder.file()).value();
    StoreBatch batch;
    batch.erase({7, 1, 2});
    store->commit(batch, StoreSync::process).value();
    run = run_store_program({"check", folder.file()});
    CHECK(run.out.find("the conversation of agent 'planner' cannot be read") != std::string::npos);
  }
  SECTION("pages are overwritten") {
    std::fstream file(folder.file(), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    file << std::string(4096, '\xee');
    file.close();
    run = run_store_program({"check", folder.file()});
    CHECK(run_store_program({"list", folder.file()}).code == 2);
  }
  SECTION("it is a text") {
    std::ofstream(folder.file(), std::ios::trunc) << std::string(5000, 't');
    run = run_store_program({"check", folder.file()});
    CHECK(run.out.find("file is not a database") != std::string::npos);
  }
  CHECK(run.code == 1);
  CHECK(run.err.empty());
  CHECK(run.out.starts_with(folder.file() + ": damaged\n"));
}

TEST_CASE("check finds messages that no agent has, and the next restart erases them",
          "[store_program][G13]") {
  const StoreFolder folder;
  { Team team(folder.file()); }
  REQUIRE(run_store_program({"check", folder.file()}).code == 0);
  put(folder.file(), {.kind = 7, .owner = 500, .number = 2}, R"({"role":"user","content":"left"})");
  put(folder.file(), {.kind = 7, .owner = 501}, R"({"role":"user","content":"left"})");
  put(folder.file(), {.kind = 4, .owner = 900}, "{}");
  const ProgramRun run = run_store_program({"check", folder.file()});
  CHECK(run.code == 1);
  CHECK(run.out.find("segment 500 has messages that no agent has, from number 2") != std::string::npos);
  CHECK(run.out.find("segment 501 has messages that no agent has, from number 0") != std::string::npos);
  CHECK(run.out.find("context 900 belongs to no agent") != std::string::npos);
  {
    const auto store = SqliteStore::open(folder.file()).value();
    const Life life(*store);
    REQUIRE(life.report);
  }
  CHECK(run_store_program({"check", folder.file()}).code == 0);
}

TEST_CASE("vacuum gives space back, and is refused while a host writes the file", "[store_program]") {
  const StoreFolder folder;
  {
    Team team(folder.file());
    check_error(run_store_program({"vacuum", folder.file()}), "writes this file; close it");
    CHECK(run_store_program({"check", folder.file()}).code == 0);
    team.life().create("large", {.system_prompt = std::string(300'000, 'x')});
    team.life().runtime.poll();
    REQUIRE(team.life().find("large").terminate().took_effect());
    for (int i = 0; i < 8; ++i) team.life().runtime.poll();
  }
  const auto before = std::filesystem::file_size(folder.file());
  const ProgramRun run = run_store_program({"vacuum", folder.file()});
  INFO(run.err);
  CHECK(run.code == 0);
  const auto after = std::filesystem::file_size(folder.file());
  CHECK(after + 250'000 < before);
  CHECK(run.out == folder.file() + ": " + std::to_string(before) + " bytes before, " + std::to_string(after) +
                       " bytes now\n");
  CHECK(run_store_program({"check", folder.file()}).code == 0);
}

TEST_CASE("a reader that goes away is no failure", "[store_program]") {
  const StoreFolder folder;
  {
    auto store = SqliteStore::open(folder.file()).value();
    Life life(*store);
    for (int i = 0; i < 1000; ++i) life.create(std::to_string(i) + std::string(200, 'x'));
    life.runtime.poll();
  }
  const bool json = GENERATE(false, true);
  std::vector<std::string> arguments{"list", folder.file()};
  if (json) arguments.emplace_back("--json");
  REQUIRE(run_store_program(arguments).out.size() > 200'000);  // more than a pipe takes
  const ProgramRun run = test::head_of_store_program(arguments);
  CHECK(run.out == (json ? "{\n" : folder.file() + ": 1000 agents, 0 messages waiting\n"));
  CHECK(run.code == 0);
  CHECK(run.err.empty());
}

TEST_CASE("what is printed never lands in a file that the program opens", "[store_program]") {
  const StoreFolder folder;
  Team(folder.file());
  const std::string command = GENERATE("list", "vacuum");
  const ProgramRun run = test::run_store_program_without_output({command, folder.file()});
  CHECK(run.code == 2);
  CHECK(run.err.find("standard output: Bad file descriptor") != std::string::npos);
  CHECK(run_store_program({"check", folder.file()}).code == 0);
  std::ifstream lock(folder.file() + "-lock");
  CHECK(std::string(std::istreambuf_iterator<char>(lock), {}).find("bytes") == std::string::npos);
}

TEST_CASE("wrong use is an error that names the help", "[store_program]") {
  check_error(run_store_program({}), "A subcommand is required; see agentcore-store --help");
  check_error(run_store_program({"lst", "x"}), "there is no subcommand 'lst'; see agentcore-store --help");
  check_error(run_store_program({"list"}), "FILE is required; see agentcore-store --help");
  check_error(run_store_program({"list", "x", "--jsn"}), "--jsn; see agentcore-store --help");
}

TEST_CASE("the program describes itself", "[store_program]") {
  const ProgramRun help = run_store_program({"--help"});
  CHECK(help.code == 0);
  for (const char* const word :
       {"list", "show", "receipts", "check", "backup", "vacuum", "Exit status: 0 done"})
    CHECK(help.out.find(word) != std::string::npos);
  CHECK(run_store_program({"show", "--help"}).out.find("AGENT") != std::string::npos);
  CHECK(run_store_program({"--version"}).out == "agentcore-store " + std::string(version) + "\n");
}
