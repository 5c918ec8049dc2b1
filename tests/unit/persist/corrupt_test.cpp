// Records that cannot be restored are refused by name, and nothing is changed.
#include "support/catch.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>

#include <cstddef>
#include <string>

using namespace agentcore;
using agentcore::test::Life;

namespace {

// A store with a parent, a child with a conversation, and a message that waits.
void fill(MemoryStore& store) {
  Life life(store, {.durability = Durability::each_message});
  const Agent root = life.create("root");
  const Agent child = root.create_child({.id = "child", .system_prompt = "p"}).value();
  REQUIRE(child.send("one"));
  life.runtime.run_until_idle();
  REQUIRE(root.pause().took_effect());
  REQUIRE(root.send("waits"));
  life.runtime.poll();
}

struct Change {
  RecordKey key;
  std::string body;  // empty: the record is erased
  Errc code = Errc::store_corrupt;
  std::string says;
};

}  // namespace

TEST_CASE("a store that cannot be restored is refused by name", "[persist][restore][corrupt]") {
  const Change change = GENERATE(
      Change{{1, 0, 0}, R"({"format":2})", Errc::store_newer, "format 2"},
      Change{{1, 0, 0}, "{", Errc::store_corrupt, "tree record 0 cannot be read"},
      Change{
          {1, 0, 0},
          R"({"format":1,"next_key":9,"next_spec":9,"next_segment":9,"generation":99999999999,"sequence":1,)"
          R"("stopped":false,"paused":false})",
          Errc::store_corrupt,
          "out of range"},
      Change{{2, 2, 0}, "[]", Errc::store_corrupt, "spec record 2 cannot be read"},
      Change{{2, 2, 0}, R"({"temperature":7})", Errc::store_corrupt, "temperature"},
      Change{{2, 2, 0}, R"({"role":9})", Errc::store_corrupt, "role has an unknown value"},
      Change{{2, 2, 0}, "", Errc::store_corrupt, "agent record 2 has no spec"},
      Change{{3, 1, 0}, "", Errc::store_corrupt, "agent record 2 has no parent"},
      Change{{3, 2, 0}, R"({"node":4294967298})", Errc::store_corrupt, "agent record 2 cannot be read"},
      Change{{3, 2, 0},
             R"({"node":4294967297,"spec":2,"parent":1,"name":"child"})",
             Errc::store_corrupt,
             "has the id of another agent"},
      Change{{3, 2, 0},
             R"({"node":4294967298,"spec":2,"parent":1,"name":"root"})",
             Errc::store_corrupt,
             "has the name of another agent"},
      Change{{3, 2, 0},
             R"({"node":4294967298,"spec":2,"parent":1,"name":"@1.1"})",
             Errc::store_corrupt,
             "has an invalid name"},
      Change{{3, 2, 0},
             R"({"node":4294967298,"spec":2,"parent":1,"history":[[1,0,0]]})",
             Errc::store_corrupt,
             "a piece that is out of range"},
      Change{{3, 2, 0},
             R"({"node":4294967298,"spec":2,"parent":1,"history":[[1,1,9223372036854775807]]})",
             Errc::store_corrupt,
             "a piece that is out of range"},
      Change{{3, 2, 0},
             R"({"node":4294967298,"spec":2,"parent":1,"history":[[9223372036854775808,0,1]]})",
             Errc::store_corrupt,
             "a piece that is out of range"},
      Change{{3, 2, 0}, R"({"node":2,"spec":2,"parent":1})", Errc::store_corrupt, "has an invalid id"},
      Change{
          {3, 77, 0}, R"({"node":4294967299,"spec":2})", Errc::store_corrupt, "newer than the tree record"},
      Change{{5, 1, 0}, R"({"id":0,"text":"x"})", Errc::store_corrupt, "invalid message id"},
      Change{{5, 9, 0}, R"({"id":268435457,"text":"x"})", Errc::store_corrupt, "mail record 9 has no agent"},
      Change{{5, 1, 0}, R"({"id":true,"text":"x"})", Errc::store_corrupt, "mail record 1 cannot be read"});
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  if (change.body.empty())
    batch.erase(change.key);
  else
    batch.put(change.key, change.body);
  REQUIRE(store.commit(batch, StoreSync::process));
  const std::size_t records = test::count_records(store);
  Life life(store);
  REQUIRE_FALSE(life.report);
  INFO(life.report.error().message);
  CHECK(life.report.error().code == change.code);
  CHECK(life.report.error().message.find(change.says) != std::string::npos);
  CHECK(life.tree->size() == 0);
  CHECK(life.restored.empty());
  life.runtime.poll();
  CHECK(test::count_records(store) == records);
}

TEST_CASE("a conversation that is damaged is refused when it is read", "[persist][restore][corrupt][lazy]") {
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  SECTION("a message is missing") {
    batch.erase({7, 1, 1});
  }
  SECTION("a message is no JSON") {
    batch.put({7, 1, 1}, "nonsense");
  }
  SECTION("the arguments of a call are nested deeper than the stack allows") {
    const std::size_t levels = 2'000'000;
    std::string body = R"({"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":)";
    for (std::size_t i = 0; i < levels; ++i) body += R"({"a":)";
    body += "1" + std::string(levels, '}') + "}}]}";
    batch.put({7, 1, 1}, body);
  }
  SECTION("a message has no role") {
    batch.put({7, 1, 1}, R"({"content":"x"})");
  }
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  REQUIRE(life.report);
  const Error error = life.find("child").conversation().error();
  CHECK(error.code == Errc::store_corrupt);
  CHECK(error.message.find("child") != std::string::npos);
}

TEST_CASE("limits of the tree hold for what is restored", "[persist][restore]") {
  MemoryStore store;
  fill(store);
  CHECK(Life(store, {}, {.max_depth = 1}).report.error().code == Errc::invalid_config);
  CHECK(Life(store, {}, {.max_agents = 1}).report.error().code == Errc::invalid_config);
  CHECK(Life(store).report);
}
