// [G13] Nothing grows with the number of agents that a store ever had: no memory, no descriptor, no file.
#include "support/catch.hpp"
#include "support/drive/drive.hpp"
#include "support/sanitized.hpp"
#include "support/store/store_folder.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/sqlite_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <malloc.h>

using namespace agentcore;
using agentcore::test::StoreFolder;

namespace {

#ifdef SANITIZED
constexpr bool heap_tells = false;
#else
constexpr bool heap_tells = true;
#endif
// What the heap may differ by: pages that SQLite keeps, and tables whose size depends on the ids.
constexpr std::size_t heap_bound = 32 * 1024;
constexpr int families_together = 25;
constexpr int agents_of_family = 4;

struct InUse {
  std::size_t heap = 0;
  std::ptrdiff_t descriptors = 0;
  std::uintmax_t file = 0, log = 0;
};

class StoredLives {
 public:
  StoredLives() {
    RestoreOptions options{.sync = StoreSync::process};
    options.code.add_llm("main", &model_);
    REQUIRE(tree_.restore(store_.get(), std::move(options)));
    static_cast<void>(runtime_.poll_descriptor());
  }

  // Creates agents that have turns, and deletes them. All durable.
  void live(int agents) {
    for (int done = 0; done < agents; done += families_together * agents_of_family) {
      std::vector<Agent> roots;
      for (int family = 0; family < families_together; ++family) roots.push_back(create_family(family));
      REQUIRE(agentcore::test::drive(runtime_, tree_) == "");
      delete_all(roots);
      REQUIRE(agentcore::test::drive(runtime_, tree_) == "");
      REQUIRE(tree_.size() == 0);
    }
  }

  InUse in_use() {
    REQUIRE(tree_.flush());
    REQUIRE(store_->compact());
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return {mallinfo2().uordblks + mallinfo2().hblkhd,
            std::distance(std::filesystem::begin(all), std::filesystem::end(all)),
            std::filesystem::file_size(path_), std::filesystem::file_size(path_ + "-wal")};
  }

 private:
  // A root with a conversation, its fork, a child with messages that wait, and a grandchild.
  Agent create_family(int family) {
    AgentSpec spec;
    spec.code.llm = "main";
    spec.system_prompt = "You are number " + std::to_string(family);
    const Agent root = tree_.create(spec).value();
    static_cast<void>(root.send("hello"));
    static_cast<void>(root.send("again"));
    while (tree_.busy()) runtime_.poll();
    static_cast<void>(root.fork().value());
    spec.id = "child " + std::to_string(++children_);
    const Agent child = root.create_child(spec).value();
    static_cast<void>(child.pause());
    for (int message = 0; message < family % 4; ++message) static_cast<void>(child.send("wait"));
    static_cast<void>(child.create_child().value());
    return root;
  }

  // Forks, too: they are roots.
  void delete_all(const std::vector<Agent>& roots) {
    for (std::size_t i = 0; i < roots.size(); ++i)
      if (i % 3 == 0) static_cast<void>(roots[i].stop());
    runtime_.poll();
    for (const Agent& root : tree_.roots()) static_cast<void>(root.terminate());
  }

  StoreFolder folder_;
  const std::string path_ = folder_.file();
  std::unique_ptr<SqliteStore> store_ = SqliteStore::open(path_).value();
  Runtime runtime_;
  testing::ScriptedClient model_{runtime_, [](const ChatRequest&) {
                                   return testing::ScriptedReply{.deltas = {"one ", "two"}};
                                 }};
  AgentTree tree_{runtime_};
  int children_ = 0;
};

// Returns what it has found, for people.
std::string check_lives(int agents) {
  StoredLives lives;
  lives.live(1000);  // after which nothing may grow any more
  const InUse before = lives.in_use();
  lives.live(agents);
  const InUse after = lives.in_use();
  const auto change = [](const char* what, auto first, auto last) {
    return what + std::to_string(first) + " -> " + std::to_string(last);
  };
  std::string found = std::to_string(agents) + " agents: " + change("heap ", before.heap, after.heap) +
                      change(", file ", before.file, after.file) +
                      change(" bytes, descriptors ", before.descriptors, after.descriptors);
  INFO(found);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.file == before.file);
  CHECK(after.log == 0);
  if (heap_tells) CHECK(after.heap <= before.heap + heap_bound);
  return found;
}

}  // namespace

TEST_CASE("two thousand agents that were created and deleted leave nothing behind in a store",
          "[persist][leak][G13]") {
  static_cast<void>(check_lives(2000));
}

// test_integration '[.lives]'
TEST_CASE("a hundred thousand agents that were created and deleted leave nothing behind in a store",
          "[.lives][persist]") {
  WARN(check_lives(100'000));
}
