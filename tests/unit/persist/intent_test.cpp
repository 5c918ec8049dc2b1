// A tool call begins when the store has that it will.
#include "support/catch.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::GuardedStore;
using agentcore::test::Life;

namespace {

// Keeps its jobs until the test runs them.
class WaitingExecutor final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

// A tree with a tool, of which an agent is asked to call it; commits wait for the test.
struct Asked {
  explicit Asked(ToolReplay replay, Durability durability = Durability::each_turn) {
    tools->add(
        make_tool({.name = "act", .replay = replay}, [this](const nlohmann::json&, const ToolContext&) {
          ++runs;
          return ToolResult::done("acted");
        }));
    RestoreOptions options{.durability = durability, .executor = &executor};
    options.on_failure = [this](const Error&) { return after_failure; };
    options.code.add_tools("tools", tools);
    life = std::make_unique<Life>(store, options);
    agent = life->create("a", {.code = {.tools = "tools"}});
    life->runtime.poll();
    executor.run_all();
    life->runtime.poll();
    testing::ScriptedReply call;
    call.tool_calls = {{.id = "c1", .name = "act", .arguments = "{}"}};
    life->llm.enqueue(call);
    REQUIRE(agent.send("go"));
    poll();
  }
  void poll() {
    for (int i = 0; i < 8; ++i) life->runtime.poll();
  }

  GuardedStore store;
  WaitingExecutor executor;
  std::shared_ptr<ToolRegistry> tools = std::make_shared<ToolRegistry>();
  AfterStoreFailure after_failure = AfterStoreFailure::retry;
  int runs = 0;
  std::unique_ptr<Life> life;
  Agent agent;
};

std::string text_of_call(const Agent& agent) {
  for (const ChatMessage& message : agent.conversation().value())
    if (message.role == Role::tool) return message.content();
  return "no call";
}

}  // namespace

TEST_CASE("a tool begins after the store has that it will, at every durability", "[persist][intent][G14]") {
  const Durability durability =
      GENERATE(Durability::each_turn, Durability::each_step, Durability::each_message);
  Asked asked(ToolReplay::never, durability);
  for (int commits = 0; commits < 3 && asked.runs == 0; ++commits) {
    CHECK(asked.agent.state().value() == AgentState::processing);
    REQUIRE(asked.executor.jobs.size() == 1);
    asked.executor.run_all();
    asked.poll();
  }
  CHECK(asked.runs == 1);
  // What the store had before the tool began: the turn, and the call that was to begin.
  CHECK(text_of_call(asked.agent) == "acted");
}

TEST_CASE("a call that is approved while others wait for the store begins after the next commit",
          "[persist][intent][questions]") {
  Asked asked(ToolReplay::never);
  asked.tools->add(
      make_tool({.name = "careful", .needs_approval = true}, [&](const nlohmann::json&, const ToolContext&) {
        ++asked.runs;
        return ToolResult::done("acted");
      }));
  asked.executor.run_all();
  asked.poll();
  REQUIRE(asked.runs == 1);
  asked.executor.run_all();
  asked.poll();
  asked.executor.run_all();
  asked.poll();
  testing::ScriptedReply calls;
  calls.tool_calls = {{.id = "d1", .name = "act", .arguments = "{}"},
                      {.id = "d2", .name = "careful", .arguments = "{}"}};
  asked.life->llm.enqueue(calls);
  AgentSpec spec{.code = {.tools = "tools"}};
  spec.limits.parallel_tools = 2;
  const Agent other = asked.life->create("b", spec);
  asked.poll();
  asked.executor.run_all();
  asked.poll();
  REQUIRE(other.send("go"));
  asked.poll();
  while (asked.life->tree->questions().empty()) {
    asked.executor.run_all();
    asked.poll();
  }
  REQUIRE(asked.runs == 1);
  REQUIRE(asked.executor.jobs.size() == 1);  // of the first call
  REQUIRE(asked.life->tree->approve(asked.life->tree->questions().at(0).id).has_value());
  asked.poll();
  CHECK(asked.runs == 1);
  asked.executor.run_all();
  asked.poll();
  CHECK(asked.runs == 2);  // the commit that has ended does not have the second call
  for (int i = 0; i < 4; ++i) {
    asked.executor.run_all();
    asked.poll();
  }
  CHECK(asked.runs == 3);
  CHECK(other.state().value() == AgentState::idle);
}

TEST_CASE("a tool that may run again does not wait for the store", "[persist][intent]") {
  const Asked asked(ToolReplay::safe);
  CHECK(asked.runs == 1);
  CHECK(to_string(ToolReplay::safe) == "safe");
}

TEST_CASE("a stop ends a call that waits for the store: it never begins", "[persist][intent][stop]") {
  Asked asked(ToolReplay::never);
  REQUIRE(asked.runs == 0);
  SECTION("a stop") {
    REQUIRE(asked.agent.stop().took_effect());
    asked.poll();
    CHECK(asked.agent.state().value() == AgentState::stopped);
  }
  SECTION("an interrupt") {
    REQUIRE(asked.agent.interrupt().took_effect());
    asked.poll();
    CHECK(asked.agent.state().value() == AgentState::idle);
  }
  SECTION("an interrupt of its subtree") {
    REQUIRE(asked.agent.interrupt({.scope = Scope::subtree}).took_effect());
    asked.poll();
    CHECK(asked.agent.state().value() == AgentState::idle);
  }
  SECTION("a cancel of the call") {
    REQUIRE(asked.agent.cancel_call("c1").took_effect());
    asked.poll();
  }
  asked.executor.run_all();
  asked.poll();
  asked.executor.run_all();
  asked.poll();
  CHECK(asked.runs == 0);
}

TEST_CASE("a pause keeps a call from beginning when the store has it", "[persist][intent][pause]") {
  Asked asked(ToolReplay::never);
  REQUIRE(asked.agent.pause().took_effect());
  for (int i = 0; i < 4; ++i) {
    asked.executor.run_all();
    asked.poll();
  }
  CHECK(asked.runs == 0);
  REQUIRE(asked.agent.unpause().took_effect());
  asked.poll();
  CHECK(asked.runs == 1);
}

TEST_CASE("a call waits as long as the store fails, unless the host goes on in memory",
          "[persist][intent][failure]") {
  Asked asked(ToolReplay::never);
  asked.store.failure = {Errc::store_full, "the disk is full"};
  SECTION("retry") {
    asked.executor.run_all();
    asked.poll();
    CHECK(asked.runs == 0);
    asked.store.failure = {};
    REQUIRE(asked.life->tree->flush());
    asked.poll();
    CHECK(asked.runs == 1);
  }
  SECTION("go_on") {
    asked.after_failure = AfterStoreFailure::go_on;
    asked.executor.run_all();
    asked.poll();
    CHECK(asked.runs == 1);
  }
}

TEST_CASE("a restart knows which calls had not begun", "[persist][intent][restore][G9]") {
  Asked asked(ToolReplay::never, Durability::each_step);
  // The process ends while the commit of the intent waits: the store does not have it.
  MemoryStore at_crash;
  const auto copy = [&] {
    StoreBatch all;
    REQUIRE(asked.store.read({}, {RecordKey::max, RecordKey::max, RecordKey::max},
                             [&](const RecordKey& key, std::string_view body) {
                               all.put(key, std::string(body));
                               return true;
                             }));
    REQUIRE(at_crash.commit(all, StoreSync::process));
  };
  RestoreOptions options;
  options.code.add_tools("tools", asked.tools);
  SECTION("before the intent was stored") {
    copy();
    const Life next(at_crash, options);
    CHECK(next.report->agents == 1);
    CHECK(text_of_call(next.tree->find("a").value()).find("unknown") == std::string::npos);
  }
  SECTION("after it") {
    asked.executor.run_all();
    copy();
    const Life next(at_crash, options);
    CHECK(next.report->interrupted_turns == 1);
    CHECK(text_of_call(next.tree->find("a").value()).find("effect is unknown") != std::string::npos);
  }
  CHECK(asked.runs == 0);
}

TEST_CASE("the calls of one answer wait for one commit", "[persist][intent][G14]") {
  GuardedStore store;
  WaitingExecutor executor;
  auto tools = std::make_shared<ToolRegistry>();
  std::vector<std::string> runs;
  for (const char* const name : {"first", "second", "third"})
    tools->add(
        make_tool({.name = name, .mode = name == std::string("third") ? ToolMode::async : ToolMode::sync},
                  [&runs, name](const nlohmann::json&, const ToolContext&) {
                    runs.emplace_back(name);
                    return ToolResult::done("done");
                  }));
  tools->add(
      make_tool({.name = "safe", .replay = ToolReplay::safe}, [&](const nlohmann::json&, const ToolContext&) {
        runs.emplace_back("safe");
        return ToolResult::done("done");
      }));
  RestoreOptions options{.executor = &executor};
  options.code.add_tools("tools", tools);
  Life life(store, options);
  const Agent agent =
      life.create("a", {.limits = {.parallel_tools = 4, .background_tasks = 1}, .code = {.tools = "tools"}});
  life.runtime.poll();
  executor.run_all();
  testing::ScriptedReply call;
  for (const char* const name : {"first", "second", "third", "safe"})
    call.tool_calls.push_back({.id = name, .name = name, .arguments = "{}"});
  life.llm.enqueue(call);
  REQUIRE(agent.send("go"));
  for (int i = 0; i < 8; ++i) life.runtime.poll();
  CHECK(runs == std::vector<std::string>{"safe"});  // it does not wait
  REQUIRE(executor.jobs.size() == 1);
  executor.run_all();
  life.runtime.poll();
  CHECK(runs == std::vector<std::string>{"safe", "first", "second", "third"});
}

TEST_CASE("a call begins after a flush() of the host within its turn", "[persist][intent][G14]") {
  MemoryStore store;
  auto tools = std::make_shared<ToolRegistry>();
  std::optional<Life> life;
  std::vector<std::string> runs;
  tools->add(make_tool({.name = "never"}, [&](const nlohmann::json&, const ToolContext&) {
    runs.emplace_back("never");
    return ToolResult::done("done");
  }));
  tools->add(
      make_tool({.name = "safe", .replay = ToolReplay::safe}, [&](const nlohmann::json&, const ToolContext&) {
        CHECK(life->tree->flush());
        runs.emplace_back("safe");
        return ToolResult::done("done");
      }));
  RestoreOptions options;
  options.code.add_tools("tools", tools);
  life.emplace(store, options);
  testing::ScriptedReply call;
  for (const char* const name : {"never", "safe"})
    call.tool_calls.push_back({.id = name, .name = name, .arguments = "{}"});
  life->llm.enqueue(call);
  const Agent agent = life->create("a", {.limits = {.parallel_tools = 2}, .code = {.tools = "tools"}});
  REQUIRE(agent.send("go"));
  life->runtime.run_until_idle();
  CHECK(runs == std::vector<std::string>{"safe", "never"});
  CHECK(agent.state().value() == AgentState::idle);
}

TEST_CASE("a call with the id of one that was rewound waits for the store as any other",
          "[persist][intent][rewind][G14]") {
  Asked asked(ToolReplay::never);
  const auto commit = [&] {
    asked.executor.run_all();
    asked.poll();
  };
  for (int i = 0; i < 4; ++i) commit();
  REQUIRE(asked.runs == 1);
  REQUIRE(asked.agent.state().value() == AgentState::idle);
  REQUIRE(asked.agent.rewind(1));
  asked.poll();
  for (int i = 0; i < 4; ++i) commit();
  testing::ScriptedReply call;
  call.tool_calls = {{.id = "c1", .name = "act", .arguments = "{}"}};
  asked.life->llm.enqueue(call);
  REQUIRE(asked.agent.send("go"));
  asked.poll();
  REQUIRE(asked.agent.conversation().value().at(1).tool_calls()[0].id == "c1");  // the same id
  CHECK(asked.runs == 1);
  commit();
  CHECK(asked.runs == 2);
}
