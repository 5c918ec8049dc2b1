// Stops against tools, on real threads: results, new agents, questions, and the end of the tree.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/drive.hpp"
#include "support/drive/latch.hpp"
#include "support/drive/team.hpp"
#include "support/observe/event_audit.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/tool_registry.hpp>
#include <agentcore/turn_result.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using agentcore::test::Audit;
using agentcore::test::drive;
using agentcore::test::FakeClient;
using agentcore::test::Latch;
using agentcore::test::Team;

namespace {

const int rounds = agentcore::test::amount(4000, 400);

// The open model calls answer with calls of these tools.
void ask_for(FakeClient& client, const std::vector<std::string>& tools) {
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
  for (const std::string& tool : tools) outcome.tool_calls.push_back({{}, tool, "{}", {}});
  for (FakeClient::Call* const call : client.open_calls()) FakeClient::finish(*call, outcome);
}

struct HeldTools {
  std::shared_ptr<ToolRegistry> registry = std::make_shared<ToolRegistry>();
  std::vector<ToolDone> done;
  std::vector<ToolContext> contexts;

  HeldTools() {
    registry->add({{.name = "held"}, [this](const nlohmann::json&, const ToolContext& context, ToolDone end) {
                     contexts.push_back(context);
                     done.push_back(std::move(end));
                   }});
  }
  void clear() {
    done.clear();
    contexts.clear();
  }
};

}  // namespace

TEST_CASE("in a race of a stop and tool results each result is either in the history or interrupted",
          "[stop][race][tools][G1][G2][G7][G8][G9][G10]") {
  FakeClient client;
  HeldTools tools;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  std::atomic<bool> quiet{false};
  int after_quiet = 0, completed = 0, interrupted = 0;
  bool truthful = true;
  const auto watch = tree.on_event([&](const Event& event) {
    const auto* tool = event.get<ToolEnded>();
    after_quiet += quiet.load() && (event.get<TurnStarted>() || event.get<ToolStarted>() ||
                                    (tool && tool->outcome == ToolOutcome::completed));
    const auto* end = event.get<TurnEnded>();
    if (!end || end->result->calls.size() < 2) return;
    const auto history = end->agent.conversation().value();
    for (std::size_t i = 0; i < 2; ++i) {
      const ToolCallRecord& step = end->result->calls[i];
      const bool whole = step.outcome == ToolOutcome::completed;
      ++(whole ? completed : interrupted);
      truthful = truthful && (history[2 + i].content() == "result") == whole;
    }
  });
  Team team(3);
  for (int round = 0; round < rounds; ++round) {
    quiet = false;
    const Agent parent = tree.create().value();
    const Agent agent =
        parent.create_child({.tools = tools.registry, .limits = {.parallel_tools = 2}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    ask_for(client, {"held", "held"});
    runtime.poll();
    REQUIRE(tools.done.size() == 2);
    team.run(
        [&](int member) {
          if (member < 2) return tools.done[static_cast<std::size_t>(member)](ToolResult::done("result"));
          if ((round % 2 ? agent : parent).stop().quiet) quiet = true;
        },
        [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree, client) == "");
    quiet = false;
    CHECK(agentcore::test::refusal(agent.conversation().value()) == "");
    tools.clear();
    static_cast<void>(parent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
  INFO(completed << " results were in time, " << interrupted << " were not");
  CHECK(after_quiet == 0);
  CHECK(truthful);
  CHECK(completed + interrupted == 2 * rounds);
  CHECK(audit.problem == "");
  CHECK(tree.tasks().empty());
}

TEST_CASE("in a race of a stop and the threads of an executor the calls that ran had begun, and no others",
          "[stop][race][tools][begin][G1][G9]") {
  FakeClient client;
  const auto pool = std::make_shared<ThreadPool>(2);
  auto tools = std::make_shared<ToolRegistry>();
  std::mutex mutex;
  std::set<std::string> ran;  // guarded
  tools->add(
      make_blocking_tool({.name = "work"}, pool, [&](const nlohmann::json&, const ToolContext& context) {
        const std::lock_guard lock(mutex);
        ran.insert(context.call_id());
        return ToolResult::done("worked");
      }));
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  std::shared_ptr<const TurnResult> result;
  int discarded = 0, begun = 0, never = 0;
  const auto watch = tree.on_event([&](const Event& event) {
    if (const auto* end = event.get<TurnEnded>()) result = end->result;
    discarded += event.get<Discarded>() != nullptr;
  });
  Team team(2);
  for (int round = 0; round < rounds / 4; ++round) {
    ran.clear();
    result = nullptr;
    const Agent agent = tree.create({.tools = tools, .limits = {.parallel_tools = 6}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    // In every fourth round the threads are taken until the verb has returned: no call begins before it.
    const bool is_taken = round % 4 == 0;
    const auto taken = std::make_shared<Latch>(3);  // a thread may return from it after this round
    for (int i = 0; i < 2 && is_taken; ++i) pool->submit([taken] { taken->arrive_and_wait(); });
    ask_for(client, {"work", "work", "work", "work", "work", "work"});
    team.run(
        [&](int member) {
          if (member == round % 2) return;
          if (round % 3 == 0)
            static_cast<void>(agent.interrupt());
          else
            static_cast<void>(agent.stop({.cut = round % 3 == 1 ? StopCut::all : StopCut::none}));
        },
        [&] { runtime.poll(); });
    if (is_taken) taken->arrive_and_wait();
    REQUIRE(drive(runtime, tree, client) == "");
    // Each thread of the pool has taken all jobs before these.
    const auto both = std::make_shared<Latch>(3);
    for (int i = 0; i < 2; ++i) pool->submit([both] { both->arrive_and_wait(); });
    both->arrive_and_wait();
    REQUIRE(drive(runtime, tree, client) == "");
    if (result) {
      for (const ToolCallRecord& call : result->calls) {
        const bool did_run = ran.count(call.call_id) != 0;
        ++(did_run ? begun : never);
        CHECK((call.outcome != ToolOutcome::not_started) == did_run);
      }
    }
    static_cast<void>(agent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
  INFO(begun << " calls began, " << never << " did not");
  CHECK(begun != 0);
  CHECK(never != 0);
  CHECK(audit.problem == "");
}

TEST_CASE("in a race of a stop and tools that create agents each agent is stopped or refused",
          "[stop][race][tools][G1][G2][G3]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  auto tools = std::make_shared<ToolRegistry>();
  tools->add(make_tool({.name = "spawn"}, [](const nlohmann::json&, const ToolContext& context) {
    const auto child = context.agent().create_child();
    if (!child) return ToolResult::failed("refused");
    static_cast<void>(child->send("work"));
    return ToolResult::done("created");
  }));
  Team team(1);
  std::size_t inside = 0;
  for (int round = 0; round < rounds; ++round) {
    const Agent agent = tree.create({.tools = tools}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    team.run([&](int) { static_cast<void>(agent.stop()); },
             [&] {
               ask_for(client, {"spawn", "spawn", "spawn"});
               runtime.poll();
             });
    REQUIRE(drive(runtime, tree, client) == "");
    for (const Agent& child : agent.children().value()) {
      ++inside;
      REQUIRE(child.state().value() == AgentState::stopped);
    }
    CHECK(agentcore::test::refusal(agent.conversation().value()) == "");
    static_cast<void>(agent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
  INFO(inside << " children were made before the stop");
  CHECK(audit.problem == "");
  CHECK(tree.size() == 0);
}

TEST_CASE("tools may deliver from their threads while the tree is destroyed",
          "[stop][race][tools][G13][Q3]") {
  for (int round = 0; round < rounds; ++round) {
    FakeClient client;
    HeldTools tools;
    Runtime runtime;
    auto tree = std::make_unique<AgentTree>(runtime, TreeOptions{.llm = &client});
    static_cast<void>(tree->create({.tools = tools.registry, .limits = {.parallel_tools = 3}})->send("a"));
    runtime.poll();
    ask_for(client, {"held", "held", "held"});
    runtime.poll();
    REQUIRE(tools.done.size() == 3);
    static Team team(3);
    team.run(
        [&](int member) {
          const auto i = static_cast<std::size_t>(member);
          tools.contexts[i].progress("half");
          tools.contexts[i].ask({.text = "Why?"}, [](const Answer&) {});
          tools.done[i](ToolResult::done("result"));
        },
        [&] {
          if (round % 2) runtime.poll();
          tree.reset();
        });
    runtime.poll();
    client.cancel_stopped();
  }
}

TEST_CASE("a stop ends blocking tools and background tasks on a pool",
          "[stop][race][tools][G1][G4][X16][X17]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Audit audit(tree);
  const auto pool = std::make_shared<ThreadPool>(3);
  auto tools = std::make_shared<ToolRegistry>();
  const auto work = [](const nlohmann::json&, const ToolContext& context) {
    for (int i = 0; i < 200 && !context.stop().stop_requested(); ++i) {
      if (i % 50 == 0) context.progress("on");
      std::this_thread::yield();
    }
    return context.stop().stop_requested() ? ToolResult::failed("cancelled") : ToolResult::done("worked");
  };
  tools->add(make_blocking_tool({.name = "work"}, pool, work));
  tools->add(make_blocking_tool({.name = "task", .mode = ToolMode::async}, pool, work));
  Team team(1);
  for (int round = 0; round < rounds / 3; ++round) {
    const Agent agent =
        tree.create({.tools = tools, .limits = {.parallel_tools = 2, .background_tasks = 1}}).value();
    static_cast<void>(agent.send("a"));
    runtime.poll();
    ask_for(client, {"task", "work", "work"});
    team.run([&](int) { static_cast<void>(agent.stop()); }, [&] { runtime.poll(); });
    REQUIRE(drive(runtime, tree, [&] {
              client.cancel_stopped();
              std::this_thread::yield();
            }) == "");
    CHECK(agentcore::test::refusal(agent.conversation().value()) == "");
    CHECK(agent.state().value() == AgentState::stopped);
    static_cast<void>(agent.terminate());
    REQUIRE(drive(runtime, tree, client) == "");
    audit.sweep();
  }
  CHECK(audit.problem == "");
  CHECK(audit.given_up == 0);
  CHECK(tree.tasks().empty());
}
