// Background tasks: a turn does not wait for them, an abort leaves them, a stop cancels them.
#include "support/drive/tool_turn.hpp"

#include <thread>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct Background : ToolTurn {
  std::vector<TaskChanged> changes;
  Subscription watch;

  explicit Background(TreeOptions options = {}) : ToolTurn(options) {
    tools->add({{.name = "bg", .mode = ToolMode::async}, held.start()});
    watch = tree->on_event([this](const Event& event) {
      if (const auto* change = event.get<TaskChanged>()) changes.push_back(*change);
    });
  }
  // Begins one task, and answers in words.
  void begin(AgentSpec spec = {.limits = {.background_tasks = 2}}) {
    ask(agent(std::move(spec)));
    call({{.id = "x", .name = "bg"}});
    answer("begun");
    REQUIRE(state("a") == AgentState::idle);
    REQUIRE(held.calls.size() == 1);
  }
  std::size_t running() {
    std::size_t count = 0;
    for (const RunningTask& task : tree->tasks()) count += task.kind == RunningTask::Kind::background;
    return count;
  }
};

}  // namespace

TEST_CASE("without background tasks an async tool runs as all others", "[turn][background][L1][J9]") {
  Background t;
  t.ask(t.agent());
  t.call({{.id = "x", .name = "bg"}});
  CHECK(t.llm->calls() == 1);
  t.held.calls.at(0).done(ToolResult::done("waited for"));
  t.settle();
  CHECK(t.history() == "user:question, assistant:[bg x], tool:x=waited for");
  t.answer("done");
  CHECK(t.result->calls.at(0).mode == ToolMode::sync);
  CHECK(t.changes.empty());
}

TEST_CASE("a turn gets the id of a task as its result and goes on",
          "[turn][background][L1][L2][L3][L4][L7][K11]") {
  Background t;
  t.begin();
  CHECK(t.seen.count("ended a 1 completed") == 1);
  const ToolCallRecord& step = t.result->calls.at(0);
  CHECK(step.mode == ToolMode::async);
  CHECK(step.outcome == ToolOutcome::completed);
  CHECK(step.task_id.size() == 37);
  CHECK(step.task_id.find("task_") == 0);
  CHECK(step.task_id.find_first_not_of("0123456789abcdef", 5) == std::string::npos);
  const std::string told = t["a"].conversation().value().at(2).content();
  CHECK(told == "async task started: " + step.task_id + "\n" +
                    json{{"task_id", step.task_id}, {"status", "started"}}.dump());
  REQUIRE(t.changes.size() == 1);
  CHECK(t.changes[0].task_id == step.task_id);
  CHECK(t.changes[0].tool == "bg");
  const auto tasks = t.tree->tasks();
  REQUIRE(tasks.size() == 1);
  CHECK(tasks[0].kind == RunningTask::Kind::background);
  CHECK(tasks[0].id == step.task_id);
  CHECK(t.held.calls[0].context.call_id() == step.task_id);

  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  REQUIRE(t.changes.size() == 2);
  CHECK(t.changes[1].state == TaskState::completed);
  CHECK(t.changes[1].result.message == "found it");
  CHECK(t.tree->tasks().empty());
  CHECK(t["a"].conversation().value().at(2).content() == told);
  CHECK(t.llm->calls() == 2);  // the agent is not woken by it
}

TEST_CASE("a task fails by its result or by dropping its call or by its time-out",
          "[turn][background][L5][L7]") {
  Background t({.tool_timeout = std::chrono::seconds(30)});
  t.ask(t.agent({.limits = {.background_tasks = 3}}));
  t.call({{.name = "bg"}, {.name = "bg"}, {.name = "bg"}});
  REQUIRE(t.held.calls.size() == 3);
  t.held.calls[0].done(ToolResult::failed("no luck"));
  t.held.calls.erase(t.held.calls.begin() + 1);
  t.settle();
  t.advance(std::chrono::seconds(31));
  REQUIRE(t.changes.size() == 6);
  for (std::size_t i = 3; i < 6; ++i) CHECK(t.changes[i].state == TaskState::failed);
  CHECK(t.changes[3].result.message == "no luck");
  CHECK(t.changes[4].result.message == "the tool dropped its call");
  CHECK(t.changes[5].result.message == "timed out after 30 s; its effect is unknown");
  CHECK(t.held.calls[1].context.stop().stop_requested());
  t.held.calls[1].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  CHECK(t.running() == 0);
}

TEST_CASE("an abort does not end a background task", "[turn][background][X17][X16][L5]") {
  Background t;
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "x", .name = "bg"}});
  CHECK(t["a"].abort().took_effect());
  t.settle();
  CHECK(t.running() == 1);
  CHECK_FALSE(t.held.calls.at(0).context.stop().stop_requested());
  t.held.calls[0].context.progress("half");
  t.held.calls[0].done(ToolResult::done("found it"));
  t.settle();
  CHECK(joined(t.seen.with("task a")) == "task a bg started task a bg completed");
  CHECK(t.seen.index("ended a 1 aborted") < t.seen.index("task a bg completed"));
  CHECK(t.seen.count("progress a") == 1);
}

TEST_CASE("a stop and a delete cancel the background tasks and wait for their ends",
          "[turn][background][X17][L6][L7]") {
  for (const bool terminate : {false, true}) {
    for (const bool in_turn : {false, true}) {
      Background t;
      if (in_turn) {
        t.ask(t.agent({.limits = {.background_tasks = 1}}));
        t.call({{.id = "x", .name = "bg"}});
      } else {
        t.begin();
      }
      const Agent agent = t["a"];
      if (terminate)
        CHECK(agent.terminate().took_effect());
      else
        CHECK(agent.stop().took_effect());
      CHECK(t.held.calls.at(0).context.stop().stop_requested());
      t.settle();
      CHECK(t.seen.count("task a bg cancelled") == 1);
      CHECK(t.seen.count("settled") == 0);
      CHECK(t.tree->cancel_task(t.tree->tasks().at(0).id).reason == Errc::call_over);
      REQUIRE(t.tree->tasks().size() == 1);
      CHECK(t.tree->tasks()[0].stopping);
      t.held.calls[0].done(ToolResult::failed("cancelled"));
      t.settle();
      CHECK(t.seen.count(terminate ? "settled a terminating" : "settled a stopped") == 1);
      CHECK(t.seen.count("discarded a 1 tool result") == 1);
      CHECK(agent.exists() != terminate);
    }
  }
}

TEST_CASE("the stop of a parent cancels the tasks of its children", "[turn][background][X17]") {
  Background t;
  const Agent parent = t.root("p");
  const Agent child = t.child(parent, "a", {.tools = t.tools, .limits = {.background_tasks = 1}});
  t.ask(child);
  t.call({{.name = "bg"}});
  t.answer("begun");
  CHECK(parent.stop().took_effect());
  CHECK(t.held.calls.at(0).context.stop().stop_requested());
  t.settle();
  CHECK(t.seen.count("task a bg cancelled") == 1);
  t.held.calls.clear();
  t.settle();
  CHECK(t.state("p") == AgentState::stopped);
}

TEST_CASE("an agent has at most the allowed number of background tasks", "[turn][background][L1][G15]") {
  Background t;
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "x", .name = "bg"}, {.id = "y", .name = "bg"}});
  CHECK(t.held.calls.size() == 1);
  CHECK(t["a"].conversation().value().back().content() ==
        "error: too many background tasks: 1 are running; wait until one has ended");
  t.held.calls[0].done(ToolResult::done("ended"));
  t.settle();
  t.call({{.id = "z", .name = "bg"}});
  CHECK(t.held.calls.size() == 2);
  t.answer("done");
  CHECK(t.result->calls.at(1).outcome == ToolOutcome::not_started);
  CHECK(t.result->calls.at(1).task_id.empty());
  CHECK(t.seen.count("task a bg started") == 2);
}

TEST_CASE("one background task is cancelled and its agent continues", "[turn][background][L6][I2]") {
  Background t;
  t.begin();
  CHECK(t.tree->cancel_task("task_00").reason == Errc::call_not_found);
  CHECK(t.tree->cancel_task("").reason == Errc::call_not_found);
  const std::string id = t.result->calls.at(0).task_id;
  CHECK(t.tree->cancel_task(id).took_effect());
  CHECK(t.held.calls[0].context.stop().stop_requested());
  CHECK(t.tree->cancel_task(id).reason == Errc::call_over);
  CHECK(t.changes.size() == 1);
  t.settle();
  CHECK(t.tree->cancel_task(id).reason == Errc::call_over);
  CHECK(t.changes.back().state == TaskState::cancelled);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.running() == 1);  // it has not ended yet
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  CHECK(t.changes.size() == 2);
  CHECK(t.running() == 0);
  t.ask(t["a"], "again");
}

TEST_CASE("a cancelled background task that does not end is given up",
          "[turn][background][cancel_call][G5]") {
  Background t;
  t.begin();
  const std::string id = t.result->calls.at(0).task_id;
  CHECK(t.tree->cancel_task(id).took_effect());
  t.settle();
  CHECK(joined(t.seen.with("task a")) == "task a bg started task a bg cancelled");
  t.advance(std::chrono::seconds(6));
  CHECK(t.seen.count("abandoned a background task bg") == 1);
  CHECK(t.tree->tasks().empty());
  CHECK(t.tree->cancel_task(id).reason == Errc::call_not_found);
  t.held.calls[0].done(ToolResult::failed("very late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("the end of a cancelled background task is written once whatever comes first",
          "[turn][background][cancel_call][G10]") {
  enum class First { loop, result, time_out, stop };
  for (const First first : {First::loop, First::result, First::time_out, First::stop}) {
    Background t({.tool_timeout = std::chrono::seconds(30)});
    t.begin();
    // Within a poll, so that what comes first meets the cancel before its second half does.
    const auto cancel = [&] {
      CHECK(t.tree->cancel_task(t.result->calls.at(0).task_id, {.reason = "why not"}).took_effect());
    };
    Timer timer;
    if (first == First::time_out)
      timer = t.runtime->call_after(std::chrono::seconds(29), cancel);
    else
      t.runtime->post(cancel);
    if (first == First::result) t.held.calls[0].done(ToolResult::done("late"));
    if (first == First::time_out) t.clock.advance(std::chrono::seconds(31));
    if (first == First::stop) t.runtime->post([&] { CHECK(t["a"].stop().took_effect()); });
    t.settle();
    t.held.calls.clear();
    t.settle();
    CHECK(joined(t.seen.with("task a")) == "task a bg started task a bg cancelled");
    CHECK(t.seen.count("discarded a 1 tool result") == 1);
    CHECK(t.logged("a background task was cancelled"));
    CHECK(t.running() == 0);
    CHECK(t.state("a") == (first == First::stop ? AgentState::stopped : AgentState::idle));
  }
}

TEST_CASE("a background task that ignores its stop is abandoned and named",
          "[turn][background][X17][G9][I2]") {
  const bool in_a_later_turn = GENERATE(false, true);
  Background t;
  t.begin();
  if (in_a_later_turn) {
    t.ask(t["a"], "next");
    t.answer("fine");
  }
  std::vector<std::string> failed;
  CHECK(t["a"]
            .stop({.on_settled = [&](const StopReport& report) { failed = report.abandoned; }})
            .took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);
  t.advance(std::chrono::seconds(6));
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.index("task a bg cancelled") < t.seen.index("abandoned a background task bg"));
  CHECK(t.seen.index("abandoned a background task bg") < t.seen.index("settled a stopped abandoned"));
  CHECK(failed == std::vector<std::string>{"a"});
  CHECK(t.tree->tasks().empty());
  t.held.calls[0].done(ToolResult::done("very late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
}

TEST_CASE("a background task may ask a person even after its turn", "[turn][background][I13]") {
  Background t;
  t.begin();
  std::vector<Answer> answers;
  const auto ask = [&] {
    t.held.calls[0].context.ask({.text = "Which?"}, [&](const Answer& answer) { answers.push_back(answer); });
  };
  ask();
  REQUIRE(t.tree->questions().size() == 1);
  CHECK(t.tree->questions()[0].call_id == t.result->calls.at(0).task_id);
  CHECK(t.tree->answer("q_1", "the first"));
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].text == "the first");
  ask();
  CHECK(t.tree->cancel_task(t.result->calls.at(0).task_id).took_effect());
  t.settle();
  REQUIRE(answers.size() == 2);
  CHECK(answers[1].outcome == QuestionOutcome::cancelled);
  CHECK(t.seen.index("closed a q_2 cancelled") < t.seen.index("task a bg cancelled"));
  ask();  // for nobody
  REQUIRE(answers.size() == 3);
  CHECK(answers[2].outcome == QuestionOutcome::cancelled);
  CHECK(t.tree->questions().empty());
}

TEST_CASE("a background task that timed out cannot ask", "[turn][background][I13][G15]") {
  Background t({.tool_timeout = std::chrono::seconds(30)});
  t.begin();
  std::vector<Answer> answers;
  t.held.calls[0].context.ask({.text = "Which?"}, [&](const Answer& answer) { answers.push_back(answer); });
  t.advance(std::chrono::seconds(31));
  CHECK(t.tree->questions().empty());
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome == QuestionOutcome::cancelled);
  CHECK(t.tree->answer("q_1", "too late").code() == Errc::question_closed);
  CHECK(t.seen.index("closed a q_1 cancelled") < t.seen.index("task a bg failed"));
}

TEST_CASE("the time-out of a background task of a stopped agent changes nothing", "[turn][background][X17]") {
  Background t({.tool_timeout = std::chrono::seconds(30)});
  t.begin();
  t.clock.advance(std::chrono::seconds(31));
  CHECK(t["a"].stop().took_effect());
  t.settle();
  CHECK(t.seen.count("task a bg failed") == 0);
  CHECK(t.seen.count("task a bg cancelled") == 1);
}

TEST_CASE("a background task that its observer cancels or stops does not start",
          "[turn][background][L6][G1][I1]") {
  for (const bool stop : {false, true}) {
    Background t;
    const Subscription cancels = t.tree->on_event([&](const Event& event) {
      const auto* change = event.get<TaskChanged>();
      if (!change || change->state != TaskState::started) return;
      if (stop)
        CHECK(change->agent.stop().took_effect());
      else
        CHECK(t.tree->cancel_task(change->task_id).took_effect());
    });
    t.ask(t.agent({.limits = {.background_tasks = 1}}));
    t.call({{.id = "x", .name = "bg"}});
    CHECK(t.held.calls.empty());
    CHECK(joined(t.seen.with("task a")) == "task a bg started task a bg cancelled");
    CHECK(t.state("a") == (stop ? AgentState::stopped : AgentState::waiting_llm));
    CHECK(t.running() == 0);
    CHECK(t["a"].conversation().value().back().content() ==
          (stop ? "not started: its turn ended before it began"
                : "error: not started: the task was cancelled before it began"));
    if (!stop) t.answer("then not");
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
    CHECK(t.result->calls.at(0).task_id.empty());
  }
}

TEST_CASE("a background task gets the same arguments as a call in the turn", "[turn][background][L1]") {
  for (const bool tasks : {false, true}) {
    for (const char* arguments : {"", "  \n", "{}"}) {
      Background t;
      t.ask(t.agent({.limits = {.background_tasks = static_cast<std::uint16_t>(tasks)}}));
      t.call({{.name = "bg", .arguments = arguments}});
      REQUIRE(t.held.calls.size() == 1);
      CHECK(t.held.calls[0].arguments == json::object());
    }
  }
}

TEST_CASE("a background task may need an approval and ends at once if its tool does",
          "[turn][background][L7]") {
  Background t;
  t.tools->add(
      {{.name = "quick", .mode = ToolMode::async, .needs_approval = true},
       [](const json&, const ToolContext&, const ToolDone& done) { done(ToolResult::done("at once")); }});
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "x", .name = "quick"}});
  CHECK(t.changes.empty());
  CHECK(t.tree->approve("q_1"));
  t.settle();
  CHECK(joined(t.seen.with("task a")) == "task a quick started task a quick completed");
  CHECK(t.llm->calls() == 2);
  CHECK(t.running() == 0);
}

TEST_CASE("an approved background task launches in the registry in which it was approved",
          "[turn][background][L7]") {
  Background t;
  ToolRegistry* launched = nullptr;
  const auto registry = [&] {
    auto made = std::make_shared<ToolRegistry>(
        [&](ToolRegistry& in, const Agent&, std::string_view, std::string_view) { launched = &in; });
    made->add({{.name = "opens", .mode = ToolMode::async, .needs_approval = true},
               [](const json&, const ToolContext&, const ToolDone& done) {
                 ToolResult result = ToolResult::done("opened");
                 result.launch = Launch{.app = "notes"};
                 done(std::move(result));
               }});
    return made;
  };
  const auto approved = registry();
  const Agent agent =
      t.tree->create({.id = "a", .tools = approved, .limits = {.background_tasks = 1}}).value();
  t.ask(agent);
  t.call({{.id = "x", .name = "opens"}});
  CHECK(agent.set_tools(registry()));
  CHECK(t.tree->approve("q_1"));
  t.settle();
  CHECK(launched == approved.get());
}

TEST_CASE(
    "the result of a task that comes after a stop is dropped, whether or not the loop has read the stop",
    "[turn][background][X17][G1]") {
  const bool read = GENERATE(false, true);
  const bool below = GENERATE(false, true);  // the stop is one of the parent
  Background t;
  const Agent parent = t.root("parent");
  t.ask(t.child(parent, "a", {.tools = t.tools, .limits = {.background_tasks = 2}}));
  t.call({{.id = "x", .name = "bg"}});
  t.answer("begun");
  // The loop does what was posted, and reads the stop in its next round.
  t.runtime->post(
      [&] { std::thread([&] { CHECK((below ? parent : t["a"]).stop().took_effect()); }).join(); });
  if (read) t.settle();
  t.held.calls.at(0).done(ToolResult::done("late"));
  t.settle();
  REQUIRE(t.changes.size() == 2);
  CHECK(t.changes[1].state == TaskState::cancelled);
  CHECK(t.seen.with("discarded a") == std::vector<std::string>{"discarded a 1 tool result"});
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a background task may act after its turn, until it ends or its agent is stopped",
          "[turn][background][L5][G1]") {
  const bool stops = GENERATE(false, true);
  Background t;
  t.begin();
  t.ask(t["a"], "next");
  t.answer("fine");
  const Agent agent = t["a"], other = t.root("other", {.handler = [](const Agent&, const Message&) {}});
  const ToolContext& context = t.held.calls[0].context;
  CHECK(context.send(other, {.text = "from the task"}).accepted());
  CHECK(context.create_child(agent, {.id = "child"}));
  if (stops)
    CHECK(agent.stop().took_effect());
  else
    CHECK(t.tree->cancel_task(t.tree->tasks().at(0).id).took_effect());
  const Errc why = stops ? Errc::agent_stopping : Errc::call_over;
  CHECK(context.send(other, {.text = "too late"}).reason == why);
  const Result<Agent> refused = context.create_child(agent, {.id = "late"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == why);
  t.settle();
  CHECK(t.seen.count("ended other") == 1);
}

TEST_CASE(
    "a task whose beginning an observer answers with a pause begins after the unpause, if it is still there",
    "[turn][background][pause][G1]") {
  Background t;
  const Subscription pauses = t.tree->on<TaskChanged>([&](const TaskChanged& change) {
    if (change.state == TaskState::started) CHECK(change.agent.pause().took_effect());
  });
  const Agent agent = t.agent({.limits = {.background_tasks = 2}});
  t.ask(agent);
  t.call({{.id = "x", .name = "bg"}});
  CHECK(t.held.calls.empty());
  CHECK(t.seen.count("at-rest a") == 1);
  REQUIRE(t.changes.size() == 1);
  SECTION("unpaused") {
    CHECK(agent.unpause().took_effect());
    t.settle();
    REQUIRE(t.held.calls.size() == 1);
    t.held.calls[0].done(ToolResult::done("result"));
    t.settle();
    CHECK(t.changes.back().state == TaskState::completed);
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
  SECTION("cancelled") {
    CHECK(t.tree->cancel_task(t.changes[0].task_id).took_effect());
    t.settle();
    CHECK(t.running() == 0);
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.held.calls.empty());
    CHECK(t.changes.back().state == TaskState::cancelled);
    t.answer("done");
    CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  }
  SECTION("interrupted") {
    CHECK(agent.interrupt().took_effect());
    t.settle();
    CHECK(t.running() == 0);
    CHECK(t.changes.back().state == TaskState::cancelled);
    CHECK(t.result->outcome == TurnOutcome::interrupted);
    CHECK(agent.unpause().took_effect());
  }
  SECTION("stopped") {
    CHECK(agent.stop().took_effect());
    t.settle();
    CHECK(t.running() == 0);
    CHECK(t.changes.back().state == TaskState::cancelled);
    CHECK(t.state("a") == AgentState::stopped);
  }
  CHECK(t.changes.size() == 2);
}
