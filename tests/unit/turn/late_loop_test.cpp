// What arrived before its time-out counts, although the loop is late.
#include "loop/engine.hpp"
#include "support/drive/pipes.hpp"
#include "support/drive/process_fixture.hpp"
#include "support/drive/tool_turn.hpp"

#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

// The tool of the only call gives its result on another thread.
void deliver_elsewhere(ToolTurn& t) {
  std::thread([done = t.held.calls[0].done] { done(ToolResult::done("in time")); }).join();
}

// Waits until the program of that pid has ended, and leaves its status to the library.
void wait_for_end(pid_t pid) {
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
}

}  // namespace

TEST_CASE("a result that came in time counts although the loop takes it late", "[turn][tools][late][G9]") {
  ToolTurn t({.tool_timeout = 500ms});
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  t.clock.advance(50ms);
  SECTION("from another thread") {
    deliver_elsewhere(t);
  }
  SECTION("from another thread, at the instant of the time-out") {
    t.clock.advance(450ms);
    deliver_elsewhere(t);
  }
  SECTION("posted to the loop: it has no time of its own") {
    t.runtime->post([done = t.held.calls[0].done] { done(ToolResult::done("in time")); });
  }
  t.clock.advance(861ms);  // the loop is busy with something else
  t.settle();
  CHECK(t.history() == "user:question, assistant:[held x], tool:x=in time");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x completed ok"});
  CHECK(t.seen.count("discarded") == 0);
}

TEST_CASE("a result that came after its time-out does not count, whatever the loop reads first",
          "[turn][tools][late][G9][G15]") {
  ToolTurn t({.tool_timeout = 500ms});
  t.ask(t.agent());
  t.call({{.id = "x", .name = "held"}});
  t.clock.advance(501ms);
  deliver_elsewhere(t);
  t.clock.advance(400ms);
  t.settle();
  CHECK(t.history() ==
        "user:question, assistant:[held x], tool:x=error: timed out after 500 ms; its effect is unknown");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x interrupted failed"});
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
}

TEST_CASE("a deadline and a stop win against a result that came before them",
          "[turn][tools][late][deadline]") {
  ToolTurn t;
  const Agent agent = t.agent({.limits = {.turn_timeout = 500ms}});
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}});
  deliver_elsewhere(t);
  const bool stops = GENERATE(true, false);
  if (stops)
    CHECK(agent.stop().took_effect());
  else
    t.clock.advance(501ms);
  t.settle();
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::interrupted);
}

TEST_CASE("the result of a background task that came in time counts", "[turn][background][late]") {
  ToolTurn t({.tool_timeout = 500ms});
  std::vector<ToolDone> open;
  t.tools->add({.spec = {.name = "later", .mode = ToolMode::async},
                .start = [&](const nlohmann::json&, const ToolContext&, ToolDone done) {
                  open.push_back(std::move(done));
                }});
  std::vector<TaskState> states;
  const auto watch = t.tree->on<TaskChanged>([&](const TaskChanged& task) { states.push_back(task.state); });
  t.ask(t.agent({.limits = {.background_tasks = 1}}));
  t.call({{.id = "x", .name = "later"}});
  std::thread([&] { open.at(0)(ToolResult::done("found")); }).join();
  t.clock.advance(1s);
  t.settle();
  CHECK(states == std::vector<TaskState>{TaskState::started, TaskState::completed});
}

TEST_CASE("an answer that was posted in time counts although the loop is late", "[turn][questions][late]") {
  ToolTurn t({.question_timeout = 500ms});
  t.tools->add(make_ask_human_tool());
  t.ask(t.agent());
  t.call({{.id = "x", .name = "ask_human", .arguments = R"({"question":"where"})"}});
  REQUIRE(t.tree->questions().size() == 1);
  std::optional<Result<void>> answered;
  t.runtime->post([&] { answered = t.tree->answer("q_1", "here"); });
  t.clock.advance(900ms);
  t.settle();
  REQUIRE(answered);
  CHECK(answered->code() == Errc::none);
  CHECK(t.history() == "user:question, assistant:[ask_human x], tool:x=here");
}

TEST_CASE("a program that has ended is read before its call times out", "[turn][tools][late][G9]") {
  Fifo fifo, go;
  ToolTurn t({.tool_timeout = 500ms});
  t.tools->add(
      program(script("echo out; echo $$ >\"$F\"; read line <\"" + go.path() + "\"", &fifo), EACH_WATCH()));
  t.ask(t.agent());
  t.call({{.id = "x", .name = "program"}});
  const pid_t pid = fifo.pid();
  t.settle();
  // Another handler takes all the time that the poll has for descriptors, but not that for timers.
  const loop_test::Pipe pipe;
  detail::loop::Engine& engine = *detail::loop::engine_of(*t.runtime);
  loop_test::Handler busy([&](int descriptor, detail::loop::IoEvents) {
    engine.unwatch(descriptor);
    t.clock.advance(12ms);
  });
  REQUIRE_FALSE(engine.watch(pipe.read_end(), detail::loop::IoEvents::readable, busy));
  REQUIRE(pipe.write());
  go.say("on\n");
  wait_for_end(pid);
  t.clock.advance(900ms);
  t.runtime->poll(16ms);
  CHECK(busy.calls == 1);
  t.settle();
  CHECK(t.history() == "user:question, assistant:[program x], tool:x=out\n\n{\"exit_code\":0}");
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x completed ok"});
}
