// Records that cannot be restored are refused by name, and nothing is changed.
#include "support/catch.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

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

// The tree record with one more field.
std::string tree_with(const std::string& name, const std::string& value) {
  std::string body = R"({"format":1,"stopped":false,"paused":false)";
  for (const std::string field : {"next_key", "next_spec", "next_segment", "generation", "sequence"})
    if (field != name) body += ",\"" + field + "\":9";
  return body + ",\"" + name + "\":" + value + "}";
}

// The record of "child" with one more field.
std::string child_with(const std::string& name, const std::string& value) {
  return R"({"node":4294967298,"spec":2,"parent":1,"name":"child",")" + name + "\":" + value + "}";
}

}  // namespace

TEST_CASE("a field of a record that is out of range is named", "[persist][restore][corrupt]") {
  const Change change = GENERATE(
      Change{{1, 0, 0}, tree_with("questions", "18446744073709551615"), {}, "questions is out of range"},
      Change{{1, 0, 0}, tree_with("questions", "4611686018427387905"), {}, "questions is out of range"},
      Change{{1, 0, 0}, tree_with("grants", "18446744073709551615"), {}, "grants is out of range"},
      Change{{1, 0, 0}, tree_with("next_key", "9223372036854775807"), {}, "next_key is out of range"},
      Change{{1, 0, 0}, tree_with("next_key", "0"), {}, "next_key is out of range"},
      Change{{1, 0, 0}, tree_with("next_spec", "1.5"), {}, "next_spec is not an integer"},
      Change{{1, 0, 0}, tree_with("next_segment", "true"), {}, "next_segment is not an integer"},
      Change{{1, 0, 0}, tree_with("sequence", "-1"), {}, "sequence is out of range"},
      Change{{1, 0, 0}, tree_with("next_spec", "1"), {}, "spec record 1 is newer"},
      Change{{1, 0, 0}, tree_with("next_segment", "1"), {}, "newer than the tree record"},
      Change{{1, 0, 0}, tree_with("identity", R"("0123")"), {}, "identity is not 32"},
      Change{{1, 0, 0},
             tree_with("identity", R"("0123456789ABCDEF0123456789ABCDEF")"),
             {},
             "identity is not 32"},
      Change{{1, 0, 0}, tree_with("epoch", "4611686018427387905"), {}, "epoch is out of range"},
      Change{{3, 2, 0}, R"({"node":4294967298})", {}, "spec is missing"},
      Change{{3, 2, 0}, R"({"node":4297967296,"spec":2,"parent":1})", {}, "id that is out of range"},
      Change{{3, 2, 0}, child_with("turns", "4294967295"), {}, "turns is out of range"},
      Change{{3, 2, 0}, child_with("tool_turns", "-1"), {}, "tool_turns is out of range"},
      Change{{3, 2, 0}, child_with("held", "1"), {}, "held is neither true nor false"},
      Change{{3, 2, 0}, child_with("gate", "1.0"), {}, "gate is not an integer"},
      Change{{3, 2, 0}, child_with("history", "{}"), {}, "history is not an array"},
      Change{{3, 2, 0}, child_with("history", "[[1,0,2],[1,1,1]]"), {}, "history has a message twice"},
      Change{{3, 2, 0}, child_with("own", R"({"budget":{"cost":-1}})"), {}, "own is invalid"},
      Change{{3, 2, 0}, child_with("own", R"({"budget":{"wall_clock":-1}})"), {}, "own is invalid"},
      Change{{3, 2, 0}, child_with("subtree", R"({"budget":{},"cost":-1})"), {}, "subtree is invalid"},
      Change{{3, 2, 0}, child_with("turn", R"({"number":0,"message":1,"usage":5})"), {}, "usage is not"},
      Change{{5, 1, 0}, R"({"id":300000000,"text":"x"})", {}, "message id that is out of range"},
      Change{{5, 1, 0}, R"({"id":2.5,"text":"x"})", {}, "id is not an integer"},
      Change{{5, 1, 0}, R"({"id":268435457,"text":5})", {}, "text is not a string"},
      Change{{6, 1, 0}, R"({"id":0,"tool":"t"})", {}, "grant record 1 has an id that is out of range"},
      Change{{6, 1, 0}, R"({"id":18446744073709551615,"tool":"t"})", {}, "has an id that is out of range"});
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  batch.put(change.key, change.body);
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  INFO(change.says);
  REQUIRE_FALSE(life.report);
  INFO(life.report.error().message);
  CHECK(life.report.error().code == Errc::store_corrupt);
  CHECK(life.report.error().message.find(change.says) != std::string::npos);
}

TEST_CASE("the value behind the last one of an enumeration is unknown", "[persist][restore][corrupt]") {
  const Change change =
      GENERATE(Change{{3, 2, 0}, child_with("gate", "4"), {}, "gate"},
               Change{{3, 2, 0}, child_with("grade", "3"), {}, "grade"},
               Change{{3, 2, 0}, child_with("grade_below", "3"), {}, "grade_below"},
               Change{{3, 2, 0}, child_with("cause", "7"), {}, "cause"},
               Change{{2, 2, 0}, R"({"role":3})", {}, "role"},
               Change{{2, 2, 0}, R"({"tool_protocol":2})", {}, "tool_protocol"},
               Change{{2, 2, 0}, R"({"partial_answers":3})", {}, "partial_answers"},
               Change{{2, 2, 0}, R"({"response_format":{"kind":3}})", {}, "kind"},
               Change{{2, 2, 0}, R"({"tool_choice":[4,""]})", {}, "tool_choice"},
               Change{{2, 2, 0}, R"({"context":{"volatile_place":2}})", {}, "volatile_place"},
               Change{{6, 1, 0}, R"({"id":1,"tool":"t","scope":3})", {}, "scope"},
               Change{{6, 1, 0}, R"({"id":1,"tool":"t","mode":2})", {}, "mode"});
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  batch.put(change.key, change.body);
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  CAPTURE(change.says);
  REQUIRE_FALSE(life.report);
  CHECK(life.report.error().code == Errc::store_corrupt);
  CHECK(life.report.error().message.find(change.says + " has an unknown value") != std::string::npos);
}

TEST_CASE("a question that is newer than the record of the tree is refused", "[persist][restore][corrupt]") {
  MemoryStore store;
  fill(store);
  const std::string question = GENERATE("7", "8", "0");
  StoreBatch batch;
  batch.put({1, 0, 0}, tree_with("questions", "7"));
  batch.put({3, 2, 0}, child_with("turns", R"(1,"turn":{"number":1,"message":268435463,"questions":[[)" +
                                               question + R"(,"c",true]]})"));
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  CAPTURE(question);
  REQUIRE(life.report.has_value() == (question == "7"));
  if (!life.report)
    CHECK(life.report.error().message.find("has a question with an invalid id") != std::string::npos);
}

TEST_CASE("a store with two grants of one id is refused", "[persist][restore][corrupt][grants]") {
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  batch.put({6, 1, 0}, R"({"id":4,"tool":"t"})");
  batch.put({6, 2, 0}, R"({"id":4,"tool":"u"})");
  REQUIRE(store.commit(batch, StoreSync::process));
  const Life life(store);
  REQUIRE_FALSE(life.report);
  CHECK(life.report.error().message.find("has the id of another grant") != std::string::npos);
}

TEST_CASE("a record of what is sent is refused if it marks what is not there",
          "[persist][restore][corrupt][lazy]") {
  const std::string body = GENERATE(
      std::string(R"({"runs":[0,1000000000000000]})"), std::string(R"({"runs":[18446744073709551615]})"),
      std::string(R"({"runs":[1,-1]})"), std::string(R"({"runs":[1.5]})"), std::string(R"({})"),
      std::string(
          R"({"runs":[1],"summaries":[{"message":{"role":"user","content":""},"tokens":1,"end":9}]})"),
      std::string(
          R"({"runs":[1],"summaries":[{"message":{"role":"user","content":""},"tokens":1.5,"end":1}]})"),
      std::string(R"({"runs":[1],"summaries":[{"message":{"role":"user","content":""},"tokens":1,"end":2},)"
                  R"({"message":{"role":"user","content":""},"tokens":1,"end":1}]})"));
  MemoryStore store;
  fill(store);
  StoreBatch batch;
  batch.put({3, 2, 0},
            R"({"node":4294967298,"spec":2,"parent":1,"name":"child","turns":1,"history":[[1,0,2]],)"
            R"("has_context":true})");
  batch.put({4, 2, 0}, body);
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  REQUIRE(life.report);
  const Result<std::vector<ChatMessage>> read = life.find("child").conversation();
  REQUIRE_FALSE(read);
  INFO(read.error().message);
  CHECK(read.error().code == Errc::store_corrupt);
  const bool is_named = read.error().message.find("runs") != std::string::npos ||
                        read.error().message.find("summaries") != std::string::npos ||
                        read.error().message.find("tokens") != std::string::npos;
  CHECK(is_named);
}

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
  SECTION("a message belongs to no turn") {
    batch.put({7, 1, 0}, R"({"role":"user","content":"x"})");
  }
  SECTION("a turn begins with an answer") {
    batch.put({7, 1, 1}, R"({"role":"assistant","content":"x","turn":2})");
  }
  SECTION("a turn is one that the agent has not begun") {
    batch.put({7, 1, 0}, R"({"role":"user","content":"x","turn":7})");
  }
  SECTION("a question is shorter than what it begins with") {
    batch.put({7, 1, 0}, R"({"role":"user","content":"x","turn":1,"tasks":2})");
  }
  SECTION("the messages are no valid history") {
    batch.put({7, 1, 1}, R"({"role":"tool","content":"x","tool_call_id":"c"})");
  }
  SECTION("a message has no role") {
    batch.put({7, 1, 1}, R"({"content":"x"})");
  }
  SECTION("two turns have one number") {
    batch.put({7, 1, 0}, R"({"role":"user","content":"x","turn":1,"interruption":"stopped"})");
    batch.put({7, 1, 1}, R"({"role":"user","content":"y","turn":1,"interruption":"stopped"})");
  }
  SECTION("what is sent of it is missing") {
    batch.put({3, 2, 0}, child_with("turns", R"(1,"history":[[1,0,2]],"has_context":true)"));
  }
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store);
  REQUIRE(life.report);
  const Error error = test::error_of(life.find("child").conversation());
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
