// Every field of every record in turn has a value that it cannot have: a restore refuses the store, or the
// tree works. Nothing in between.
#include "support/catch.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::Life;
using nlohmann::json;

namespace {

using Records = std::vector<std::pair<RecordKey, json>>;

#ifdef SANITIZED
constexpr std::size_t sampled = 11;  // a restore is slow
#else
constexpr std::size_t sampled = 3;
#endif

RestoreOptions options(InterruptedTurns turns = InterruptedTurns::go_on) {
  RestoreOptions made{.durability = Durability::each_step, .turns = turns};
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_ask_human_tool());
  const auto done = [](const json&, const ToolContext&) { return ToolResult::done("done"); };
  tools->add(make_tool({.name = "careful", .needs_approval = true}, done));
  tools->add(make_tool({.name = "other", .needs_approval = true}, done));
  made.code.add_tools("tools", tools);
  return made;
}

testing::ScriptedReply calls(std::vector<ToolCall> calls) {
  testing::ScriptedReply reply;
  reply.tool_calls = std::move(calls);
  reply.usage = Usage{.prompt_tokens = 5, .completion_tokens = 6, .total_tokens = 11};
  return reply;
}

void poll(Life& life) {
  for (int i = 0; i < 12; ++i) life.runtime.poll();
}

// "boss" has an open question, an open approval and a grant; "child", paused, a conversation of three turns
// and messages that wait; "fork" is a fork of that.
void fill(MemoryStore& store) {
  Life life(store, options(InterruptedTurns::end));
  AgentSpec spec{.system_prompt = "p",
                 .model = {.temperature = 0.5},
                 .limits = {.mailbox = 9},
                 .code = {.tools = "tools"}};
  spec.limits.budget = {.turns = 100, .tokens = 1'000'000, .cost = 3.5, .wall_clock = std::chrono::hours(1)};
  spec.limits.subtree_budget = {.tokens = 2'000'000};
  spec.model.prices = {.prompt = 1, .completion = 2.5};
  spec.limits.parallel_tools = 4;
  spec.model.stop_sequences = {"x", "y"};
  spec.limits.turn_timeout = std::chrono::hours(2);
  spec.context = {.max_tokens = 100'000, .target_tokens = 30'000};
  spec.context.compact = Compaction{.prompt = "short", .max_tokens = 99};
  const Agent boss = life.create("boss", spec);
  const Agent child = boss.create_child({.id = "child"}).value();
  for (const char* const text : {"one", "two", "three"}) {
    REQUIRE(child.send(text));
    poll(life);
  }
  REQUIRE(child.fork({.id = "fork"}));
  REQUIRE(child.pause().took_effect());
  REQUIRE(child.send({.text = "waits", .sender = "me", .parts = {{.url = "https://example.org/a.png"}}},
                     {.deadline = std::chrono::steady_clock::now() + std::chrono::hours(1)}));
  life.llm.enqueue(calls({{.id = "c1", .name = "careful", .arguments = "{}"}}));
  REQUIRE(boss.send("go"));
  poll(life);
  REQUIRE(life.tree->approve(life.tree->questions().at(0).id, GrantScope::subtree).has_value());
  poll(life);
  life.llm.enqueue(calls({{.id = "c2", .name = "other", .arguments = "{}"},
                          {.id = "c3", .name = "ask_human", .arguments = R"({"question":"Which?"})"}}));
  REQUIRE(boss.send("go on"));
  poll(life);
  REQUIRE(life.tree->questions().size() == 2);
  REQUIRE(life.tree->flush());
}

// With what a run does not leave so easily: a summary, a lost agent's task, and an account that has expired.
Records records_of_a_run() {
  MemoryStore store;
  fill(store);
  Records records;
  REQUIRE(store.read({}, {RecordKey::max, RecordKey::max, RecordKey::max},
                     [&](const RecordKey& key, std::string_view body) {
                       records.emplace_back(key, json::parse(body));
                       return true;
                     }));
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto& [key, body] = records[i];
    if (key.kind != 3 || body.value("name", "") != "child") continue;
    body["has_context"] = true;
    body["tasks"] = json::array({{"t1", "careful"}});
    body["ended_tasks"] = "x\n";
    body["tool_turns"] = 3;
    body["summary_tokens"] = 4;
    const json message = {{"role", "assistant"}, {"content", "so far"}, {"summary", true}};
    const json summary = {{"message", message}, {"tokens", 3}, {"end", 2}};
    records.emplace_back(RecordKey{4, key.owner, 0},
                         json{{"runs", {0, 2, 4}}, {"summaries", json::array({summary})}});
    break;
  }
  return records;
}

// The places of all values that have no members.
std::vector<json::json_pointer> places_of(const json& body) {
  std::vector<json::json_pointer> places;
  const json flat = body.flatten();
  for (const auto& [place, value] : flat.items()) places.emplace_back(place);
  return places;
}

const std::vector<json>& values() {
  static const std::vector<json> all = {18'446'744'073'709'551'615U,
                                        -1,
                                        0,
                                        1.5,
                                        "x",
                                        nullptr,
                                        std::int64_t{1} << 53,
                                        std::int64_t{1} << 40,
                                        4'294'967'295U,
                                        true,
                                        json::array(),
                                        json::object()};
  return all;
}

// A run with that store. Nothing that it does may fail in another way than by an error.
bool restores(const Records& records) {
  MemoryStore store;
  StoreBatch batch;
  for (const auto& [key, body] : records) batch.put(key, body.dump());
  REQUIRE(store.commit(batch, StoreSync::process));
  Life life(store, options());
  if (!life.report) {
    CHECK(life.report.error().message.size() > 20);
    const Errc code = life.report.error().code;
    const bool is_refused =
        code == Errc::store_corrupt || code == Errc::store_newer || code == Errc::invalid_config;
    CHECK(is_refused);
    CHECK(life.tree->size() == 0);
    return false;
  }
  std::vector<Agent> agents;
  life.tree->walk([&](const Agent& agent) { agents.push_back(agent); });
  for (const Agent& agent : agents) {
    static_cast<void>(agent.conversation());
    static_cast<void>(agent.turns());
    static_cast<void>(export_agents(agent, {.scope = Scope::agent}));
    static_cast<void>(agent.unpause());
    static_cast<void>(agent.send("more"));
  }
  poll(life);
  for (const Agent& agent : agents)
    if (const auto turns = agent.turns(); turns && !turns->empty())
      static_cast<void>(agent.rewind(turns->back().turn));
  for (const OpenQuestion& question : life.tree->questions())
    static_cast<void>(question.kind == QuestionKind::approval ? life.tree->approve(question.id)
                                                              : life.tree->answer(question.id, "this"));
  poll(life);
  CHECK(life.tree->flush());
  CHECK(life.tree->stop_all().accepted());
  for (int i = 0; i < 100 && life.tree->busy(); ++i) life.runtime.poll();
  CHECK_FALSE(life.tree->busy());
  return true;
}

void damage_each(std::size_t step) {
  const Records records = records_of_a_run();
  REQUIRE(restores(records));
  std::size_t count = 0, refused = 0, kinds[8] = {};
  for (std::size_t i = 0; i < records.size(); ++i)
    for (const json::json_pointer& place : places_of(records[i].second))
      for (const json& value : values()) {
        if (count++ % step != 0) continue;
        Records damaged = records;
        damaged[i].second[place] = value;
        const RecordKey& key = records[i].first;
        ++kinds[key.kind];
        INFO("record " << key.kind << ", " << key.owner << ", " << key.number << " at " << place.to_string()
                       << " is " << value.dump());
        test::mark_heap();
        const std::size_t before = test::live_heap();
        refused += restores(damaged) ? 0 : 1;
        CHECK(test::peak_heap() - before < std::size_t{16} << 20);
      }
  CHECK(refused > count / step / 3);
  // Each kind of record was damaged.
  for (std::size_t kind = 1; kind < std::size(kinds); ++kind) CHECK(kinds[kind] > 3);
}

}  // namespace

TEST_CASE("a field of a record with another value is refused, or does no harm",
          "[persist][restore][corrupt]") {
  damage_each(sampled);
}

TEST_CASE("every field of every record has another value", "[.damaged][persist][restore][corrupt]") {
  damage_each(1);
}
