// When a tool call begins: with its function, not when it is handed over.
#include "support/drive/agent_calls.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/observe/strict_history.hpp"

#include <agentcore/stop_audit.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Its threads are taken: a job runs when the test says so.
class TakenPool final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

struct PoolTurn : ToolTurn {
  explicit PoolTurn(TreeOptions options = {}, ToolSpec spec = {}) : ToolTurn(std::move(options)) {
    spec.name = "slow";
    tools->add(make_blocking_tool(std::move(spec), pool, [this](const json&, const ToolContext& context) {
      ++runs;
      if (on_run) on_run(context);
      return ToolResult::done("ran");
    }));
  }
  // An agent whose call of the tool waits for the pool.
  Agent waiting(AgentSpec spec = {}) {
    const Agent made = agent(std::move(spec));
    ask(made);
    call({{.id = "x", .name = "slow"}});
    CHECK(seen.count("tool a x slow") == 1);
    CHECK(pool->jobs.size() == 1);
    CHECK(runs == 0);
    return made;
  }

  std::shared_ptr<TakenPool> pool = std::make_shared<TakenPool>();
  std::function<void(const ToolContext&)> on_run;
  int runs = 0;
};

constexpr const char* never_began = "not started: its turn ended before it began";

}  // namespace

TEST_CASE("a call whose executor has not taken it is not started, whatever ends its turn",
          "[turn][tools][begin][G9]") {
  PoolTurn t;
  const Agent agent = t.waiting({.limits = {.turn_timeout = 10s}});
  const std::string end = GENERATE("stop", "interrupt", "deadline", "delete");
  CAPTURE(end);
  if (end == "stop") CHECK(agent.stop().took_effect());
  if (end == "interrupt") CHECK(agent.interrupt().took_effect());
  if (end == "deadline") t.advance(10s);
  if (end == "delete") CHECK(agent.terminate().took_effect());
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.result->calls.at(0).message == never_began);
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
  if (end == "stop") CHECK(t.logged("Tool execution was cancelled agent=a tool=slow outcome=not_started"));
  if (end != "delete") {
    const auto history = agent.conversation().value();
    CHECK(history.at(2).content() == never_began);
    CHECK(refusal(history).empty());
  }
  CHECK(t.tree->tasks().empty());  // nothing is waited for
  CHECK(t.seen.count("abandoned") == 0);
  t.pool->run_all();
  t.settle();
  CHECK(t.runs == 0);
  CHECK(t.seen.count("discarded") == 0);
}

TEST_CASE("a stop of another agent's thread decides before the loop reads it",
          "[turn][tools][begin][G1][G9]") {
  PoolTurn t;
  const Agent agent = t.waiting();
  const StopCut cut = GENERATE(StopCut::all, StopCut::none);
  CHECK(agent.stop({.cut = cut}).took_effect());
  t.pool->run_all();  // the loop has done nothing yet, and with StopCut::none the token is not triggered
  CHECK(t.runs == 0);
  t.settle();
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
  CHECK(t.seen.count("discarded") == 0);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a call whose function has begun is interrupted", "[turn][tools][begin][G9]") {
  PoolTurn t;
  const Agent agent = t.waiting();
  t.on_run = [&](const ToolContext& context) {
    CHECK(agent.stop().took_effect());
    CHECK(context.stop().stop_requested());
    t.settle();
    CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x interrupted failed"});
  };
  t.pool->run_all();
  t.settle();
  CHECK(t.runs == 1);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
  CHECK(agent.conversation().value().at(2).content().starts_with("interrupted: it had begun"));
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
}

TEST_CASE("a call that is cancelled while it waits for its executor has not begun",
          "[turn][tools][begin][cancel_call][G9][G10]") {
  PoolTurn t;
  const Agent agent = t.waiting();
  const bool job_first = GENERATE(false, true);
  CHECK(agent.cancel_call("x").took_effect());
  if (job_first) t.pool->run_all();
  t.settle();
  t.pool->run_all();
  t.settle();
  CHECK(t.runs == 0);
  CHECK(t.history() ==
        "user:question, assistant:[slow x], tool:x=error: a person cancelled the call before it began");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
  CHECK(t.seen.count("discarded") == 0);
  CHECK(t.tree->tasks().size() == 2);  // the turn and its model call: nothing lingers
  t.answer("well");
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.result->success());
}

TEST_CASE("a call whose executor drops it has not begun", "[turn][tools][begin][G9]") {
  PoolTurn t;
  t.waiting();
  t.pool->jobs.clear();
  t.settle();
  CHECK(t.history() == "user:question, assistant:[slow x], tool:x=error: the tool dropped its call");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
  t.answer("well");
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
}

TEST_CASE("the time-out of a blocking call runs from its begin", "[turn][tools][begin][G9][G15]") {
  PoolTurn t({.tool_timeout = 30s});
  t.waiting();
  t.advance(100s);
  CHECK(t.seen.count("tool-end") == 0);
  t.on_run = [&](const ToolContext& context) {
    CHECK(context.deadline() == t.clock.now() + 30s);
    t.advance(29s);
    CHECK(t.seen.count("tool-end") == 0);
    CHECK_FALSE(context.stop().stop_requested());
    t.advance(1s);
    CHECK(context.stop().stop_requested());
  };
  t.pool->run_all();
  t.settle();
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x interrupted failed"});
  CHECK(t.history() ==
        "user:question, assistant:[slow x], tool:x=error: timed out after 30 s; its effect is unknown");
}

TEST_CASE("the deadline of the turn ends a call that waits for its executor",
          "[turn][tools][begin][deadline]") {
  PoolTurn t;
  std::optional<TimePoint> told;
  t.on_run = [&](const ToolContext& context) { told = context.deadline(); };
  const TimePoint end = t.clock.now() + 10s;
  t.waiting({.limits = {.turn_timeout = 10s}});
  t.advance(9s);
  t.pool->run_all();
  t.settle();
  CHECK(told == end);
}

TEST_CASE("an executor that does not take a call for a time is logged once for all that wait",
          "[turn][tools][begin]") {
  PoolTurn t;
  t.ask(t.agent({.limits = {.parallel_tools = 2}}));
  t.call({{.id = "x", .name = "slow"}, {.id = "y", .name = "slow"}});
  t.advance(4999ms);
  CHECK_FALSE(t.logged("has not taken it yet"));
  t.advance(1ms);
  CHECK(t.logged(
      "warning a tool call waits: its executor has not taken it yet agent=a tool=slow call=x waited=5 s"));
  CHECK_FALSE(t.logged("call=y waited"));
  t.pool->run_all();
  t.settle();
  t.answer("well");
  t.log.clear();
  t.ask(t["a"], "again");
  t.call({{.id = "z", .name = "slow"}});
  t.pool->run_all();
  t.settle();
  t.advance(60s);
  CHECK_FALSE(t.logged("has not taken it yet"));  // it was taken in time
}

TEST_CASE("a background task that waits for its executor never begins after its end",
          "[turn][background][begin][G9]") {
  PoolTurn t({}, {.mode = ToolMode::async});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  t.ask(agent);
  t.call({{.id = "x", .name = "slow"}});
  t.answer("started");
  REQUIRE(t.tree->tasks().size() == 1);
  const std::string task = t.tree->tasks()[0].id;
  const bool stops = GENERATE(true, false);
  if (stops)
    CHECK(agent.stop().took_effect());
  else
    CHECK(t.tree->cancel_task(task).took_effect());
  t.settle();
  CHECK(t.tree->tasks().empty());
  if (stops) CHECK(agent.state().value() == AgentState::stopped);
  t.pool->run_all();
  t.settle();
  CHECK(t.runs == 0);
  CHECK(t.seen.count("discarded") == 0);
  CHECK(t.seen.count("abandoned") == 0);
}

TEST_CASE("a tool that hands its call over itself after its start has begun it with the start",
          "[turn][tools][begin][G9]") {
  PoolTurn t;
  const Tool inner = make_blocking_tool({.name = "inner"}, t.pool, [&](const json&, const ToolContext&) {
    ++t.runs;
    return ToolResult::done("ran");
  });
  t.tools->add({.spec = {.name = "outer"},
                .start = [&, inner](const json& arguments, const ToolContext& context, const ToolDone& done) {
                  t.runtime->post([=] { inner.start(arguments, context, done); });
                }});
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.id = "x", .name = "outer"}});
  REQUIRE(t.pool->jobs.size() == 1);
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
  t.pool->run_all();
  CHECK(t.runs == 0);
}

TEST_CASE("a call of an agent tool begins with the turn of its agent", "[tools][agent_tool][begin][G9]") {
  AgentCalls t;
  t.begin({call_of("named", "one", "c1"), call_of("named", "two", "c2")});
  const Agent helper = t["helper"];
  CHECK(helper.queue_length().value() == 1);
  SECTION("a stop") {
    CHECK(t.planner.stop().took_effect());
    t.settle();
    CHECK(t.record(0).outcome == ToolOutcome::interrupted);
    CHECK(t.record(1).outcome == ToolOutcome::not_started);
    CHECK(t.seen.with("tool-end planner c2") ==
          std::vector<std::string>{"tool-end planner c2 not_started failed"});
  }
  SECTION("an interrupt, before the loop reads anything") {
    CHECK(t.planner.interrupt().took_effect());
    t.settle();
    CHECK(helper.queue_length().value() == 0);
    CHECK(t.record(0).outcome == ToolOutcome::interrupted);
    CHECK(t.record(1).outcome == ToolOutcome::not_started);
    CHECK(written(helper.conversation().value()) == "user:one!interrupted");
    CHECK(t.seen.count("discarded planner") <= 1);
  }
  SECTION("its message is removed") {
    CHECK(helper.drop_queue().value() == 1);
    t.settle();
    t.answer(helper, "first");
    CHECK(t.told() == "error: the agent did not begin: its message was withdrawn");
    t.answer(t.planner, "done");
    CHECK(t.record(0).outcome == ToolOutcome::completed);
    CHECK(t.record(1).outcome == ToolOutcome::not_started);
  }
}

TEST_CASE("the time-out of a call of an agent tool limits its wait, too", "[tools][agent_tool][begin][G15]") {
  AgentCalls t({}, {.tool = {.timeout = 10s}, .agent = {.id = "one"}});
  t.begin({call_of("work", "first", "c1"), call_of("work", "second", "c2")});
  t.advance(10s);
  CHECK(t.told() == "error: timed out after 10 s, before it began");
  t.answer(t.planner, "done");
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK(t.record(1).outcome == ToolOutcome::not_started);
  CHECK(t["one"].queue_length().value() == 0);
}

TEST_CASE(
    "calls that wait for an executor are logged again when some still wait later, and once for all of them",
    "[turn][tools][begin]") {
  PoolTurn t;
  const auto records = [&] {
    return std::count_if(t.log.begin(), t.log.end(), [](const std::string& line) {
      return line.find("has not taken it yet") != line.npos;
    });
  };
  const auto begin = [&](const std::string& id) {
    t.ask(t.root(id, {.tools = t.tools}));
    t.llm->call_tools(id, {{.id = "x", .name = "slow"}});
    t.settle();
  };
  begin("first");
  t.advance(6s);
  CHECK(records() == 1);  // at 5 s
  begin("second");
  t.advance(1s);
  begin("third");
  t.advance(4s);
  CHECK(records() == 2);  // at 11 s, of the second
  t.advance(4s);
  CHECK(records() == 2);  // the third, at 12 s, is one of those that were waiting
  t.pool->run_all();
  t.settle();
}
