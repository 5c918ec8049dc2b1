// Agent::cancel_call: one tool call of a turn ends, and the turn continues.
#include "support/drive/process_fixture.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/observe/counted_heap.hpp"
#include "support/sanitized.hpp"

#include <stop_token>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

struct CancelCall : ToolTurn {
  explicit CancelCall(TreeOptions options = {}) : ToolTurn(options) {
    tools->add({{.name = "risky", .needs_approval = true}, held.start()});
    tools->add({{.name = "bg", .mode = ToolMode::async}, held.start()});
  }
  // Asks for these calls; the ids are "x", "y", ...
  Agent begin(const std::vector<std::string>& names, AgentSpec spec = {}) {
    const Agent made = agent(std::move(spec));
    ask(made);
    std::vector<ToolCall> calls;
    for (const std::string& name : names)
      calls.push_back({.id = std::string(1, static_cast<char>('x' + calls.size())), .name = name});
    call(std::move(calls));
    return made;
  }
  const ToolCallRecord& record(std::size_t index) { return result->calls.at(index); }
  std::size_t logs(std::string_view part) const {
    std::size_t count = 0;
    for (const std::string& line : log) count += line.find(part) != std::string::npos;
    return count;
  }
};

}  // namespace

TEST_CASE("a cancelled tool call ends and its turn continues", "[turn][cancel_call][G7][G8][G9][G10]") {
  CancelCall t;
  const Agent agent = t.begin({"held", "add"});
  REQUIRE(t.held.calls.size() == 1);
  CHECK(agent.cancel_call("x", {.reason = "the wrong folder"}).took_effect());
  CHECK(t.held.calls[0].context.stop().stop_requested());
  CHECK(t.seen.count("tool-end") == 0);  // by the loop
  t.settle();
  CHECK(t.seen.with("tool-end a x") == std::vector<std::string>{"tool-end a x interrupted failed"});
  CHECK(t.seen.count("refused a y") == 1);  // its arguments; the next call had its turn
  CHECK(t.llm->calls() == 2);
  CHECK(t["a"].conversation().value().at(2).content() ==
        "error: a person cancelled the call; its effect is unknown; the reason: the wrong folder");
  CHECK(t.logs("info a tool call was cancelled agent=a tool=held call=x reason=the wrong folder") == 1);
  CHECK(t.logs("the wrong folder") == 1);
  t.answer("well");
  CHECK(t.result->success());
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK_FALSE(t.record(0).success);
  CHECK_FALSE(t.record(0).by_host);
  CHECK(t.record(0).message ==
        "a person cancelled the call; its effect is unknown; the reason: the wrong folder");
}

TEST_CASE("a late result of a cancelled tool call is dropped whether it is a success or not",
          "[turn][cancel_call][G7]") {
  for (const bool success : {false, true}) {
    for (const bool before_the_loop : {false, true}) {
      CancelCall t;
      const Agent agent = t.begin({"held"});
      // Within a poll, so that the result meets the cancel before the second half of the cancel does.
      t.runtime->post([&] { CHECK(agent.cancel_call("x").took_effect()); });
      if (!before_the_loop) t.settle();
      t.held.calls.at(0).done(success ? ToolResult::done("late") : ToolResult::failed("late"));
      t.settle();
      CHECK(t.seen.with("discarded") == std::vector<std::string>{"discarded a 1 tool result"});
      CHECK(t.seen.index("tool-end a x interrupted failed") < t.seen.index("discarded a 1 tool result"));
      CHECK(t.history() ==
            "user:question, assistant:[held x], tool:x=error: a person cancelled the call; its effect is "
            "unknown");
      CHECK(t.tree->tasks().size() == 2);  // the turn and its model call
      t.answer("well");
      CHECK(t.result->success());
    }
  }
}

TEST_CASE("a late failed result of a tool that timed out or was stopped is reported",
          "[turn][cancel_call][G7]") {
  CancelCall t({.tool_timeout = std::chrono::seconds(30)});
  const Agent agent = t.begin({"held"});
  t.advance(std::chrono::seconds(31));
  CHECK(agent.cancel_call("x").reason == Errc::call_over);
  t.held.calls.at(0).done(ToolResult::failed("late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
  t.call({{.id = "y", .name = "held"}});
  CHECK(agent.stop().took_effect());
  t.settle();
  t.advance(std::chrono::seconds(6));
  CHECK(t.seen.count("abandoned a tool call held") == 1);
  t.held.calls.at(1).done(ToolResult::failed("late"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 2);
}

TEST_CASE("a cancel of a call that has ended or does not exist has no effect and says why",
          "[turn][cancel_call][G10][G12]") {
  CancelCall t;
  const Agent agent = t.begin({"held", "held"});
  const auto no_effect = [&](std::string_view id, Errc reason) {
    const VerbResult result = agent.cancel_call(id);
    CHECK(result.status == VerbStatus::no_effect);
    CHECK(result.reason == reason);
  };
  no_effect("z", Errc::call_not_found);
  no_effect("", Errc::call_not_found);
  CHECK(t.root("b").cancel_call("x").reason == Errc::call_not_found);  // a call of another agent
  t.held.calls.at(0).done(ToolResult::done("one"));
  CHECK(agent.cancel_call("x").took_effect());  // the loop has not taken the result yet
  no_effect("x", Errc::call_over);
  t.settle();
  no_effect("x", Errc::call_over);
  t.held.calls.at(1).done(ToolResult::done("two"));
  t.settle();
  no_effect("y", Errc::call_over);
  CHECK(t.history().find("tool:y=two") != std::string::npos);
  t.answer("well");
  no_effect("y", Errc::call_not_found);
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK(t.record(1).outcome == ToolOutcome::completed);
  CHECK(t.seen.count("discarded a 1 tool result") == 1);
}

TEST_CASE("a call that has not begun is cancelled before it begins", "[turn][cancel_call][G9]") {
  CancelCall t;
  const Agent agent = t.begin({"held", "held", "held"});
  CHECK(agent.cancel_call("y", {.reason = "too slow"}).took_effect());
  t.settle();
  CHECK(t.held.calls.size() == 1);
  CHECK(t.seen.with("refused") ==
        std::vector<std::string>{
            "refused a y held a person cancelled the call before it began; the reason: too slow"});
  t.held.calls[0].done(ToolResult::done("one"));
  t.settle();
  REQUIRE(t.held.calls.size() == 2);  // x and z
  CHECK(t.held.calls[1].context.call_id() == "z");
  CHECK(agent.cancel_call("z").took_effect());
  t.settle();
  t.answer("well");
  CHECK(t.record(0).outcome == ToolOutcome::completed);
  CHECK(t.record(1).outcome == ToolOutcome::not_started);
  CHECK(t.record(2).outcome == ToolOutcome::interrupted);
  CHECK(t.logs("a tool call was cancelled") == 2);
}

TEST_CASE("a pending approval is closed when its call is cancelled", "[turn][cancel_call][G9][G5]") {
  CancelCall t;
  const Agent agent = t.begin({"risky"});
  REQUIRE(t.tree->questions().size() == 1);
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK(t.tree->questions().empty());
  CHECK(t.seen.count("closed a q_1 cancelled") == 1);
  CHECK(t.tree->approve("q_1").code() == Errc::question_closed);
  CHECK(t.held.calls.empty());
  CHECK(t.history() ==
        "user:question, assistant:[risky x], tool:x=error: a person cancelled the call before it began");
  CHECK(t.tree->tasks().size() == 2);
  t.answer("well");
  CHECK(t.record(0).outcome == ToolOutcome::not_started);
}

TEST_CASE("an approval that comes after the cancel starts nothing", "[turn][cancel_call][G9][G10]") {
  for (const bool approve : {false, true}) {
    CancelCall t;
    const Agent agent = t.begin({"risky"});
    CHECK(agent.cancel_call("x").took_effect());
    static_cast<void>(approve ? t.tree->approve("q_1") : t.tree->decline("q_1", "no"));
    t.settle();
    CHECK(t.held.calls.empty());
    CHECK(t.seen.count("refused a x") == 1);
    CHECK(t.history() ==
          "user:question, assistant:[risky x], tool:x=error: a person cancelled the call before it began");
    t.answer("well");
    CHECK(t.record(0).outcome == ToolOutcome::not_started);
  }
}

TEST_CASE("the questions of a cancelled call are closed", "[turn][cancel_call][G5]") {
  CancelCall t;
  const Agent agent = t.begin({"held"});
  std::vector<Answer> answers;
  t.held.calls.at(0).context.ask({.text = "Which?"},
                                 [&](const Answer& answer) { answers.push_back(answer); });
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].outcome == QuestionOutcome::cancelled);
  CHECK(t.seen.index("closed a q_1 cancelled") < t.seen.index("tool-end a x interrupted failed"));
  t.held.calls[0].context.progress("still");
  t.held.calls[0].context.ask({.text = "And?"}, [&](const Answer& answer) { answers.push_back(answer); });
  REQUIRE(answers.size() == 2);
  CHECK(t.seen.count("progress") == 0);
}

TEST_CASE("a callback for the beginning of a call may cancel it and then its tool does not start",
          "[turn][cancel_call][G1][G9][Q3]") {
  CancelCall t;
  const auto begins = t.tree->on<ToolStarted>(
      [](const ToolStarted& started) { CHECK(started.agent.cancel_call(started.call_id).took_effect()); });
  static_cast<void>(t.begin({"held"}));
  CHECK(t.held.calls.empty());
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x not_started failed"});
  CHECK(t.seen.count("refused") == 0);
  t.answer("well");
  CHECK(t.record(0).outcome == ToolOutcome::not_started);
}

TEST_CASE("a tool may cancel its own call within its start and in a callback of its question",
          "[turn][cancel_call][Q3]") {
  CancelCall t;
  t.tools->add({{.name = "own"}, [](const json&, const ToolContext& context, const ToolDone& done) {
                  CHECK(context.agent().cancel_call(context.call_id()).took_effect());
                  CHECK(context.stop().stop_requested());
                  done(ToolResult::done("done"));
                }});
  t.tools->add({{.name = "asks"}, [](const json&, const ToolContext& context, ToolDone done) {
                  context.ask({.text = "Go on?"}, [context, done](const Answer&) {
                    static_cast<void>(context.agent().cancel_call(context.call_id()));
                    done(ToolResult::done("done"));
                  });
                }});
  static_cast<void>(t.begin({"own", "asks"}));
  CHECK(t.tree->answer("q_1", "yes"));
  t.settle();
  CHECK(t.seen.count("discarded a 1 tool result") == 2);
  t.answer("well");
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK(t.record(1).outcome == ToolOutcome::interrupted);
}

TEST_CASE("a call that started a background task has ended", "[turn][cancel_call][L2]") {
  CancelCall t;
  const Agent agent = t.begin({"bg", "held"}, {.limits = {.background_tasks = 1}});
  CHECK(agent.cancel_call("x").reason == Errc::call_over);
  CHECK(agent.complete_call("x", ToolResult::done("by hand")).reason == Errc::call_over);
  CHECK_FALSE(t.held.calls.at(0).context.stop().stop_requested());
}

TEST_CASE("a call of an async tool that waits is cancelled before its task starts",
          "[turn][cancel_call][L2]") {
  CancelCall t;
  const Agent agent = t.begin({"held", "bg"}, {.limits = {.background_tasks = 1}});
  CHECK(agent.cancel_call("y").took_effect());
  t.settle();
  t.held.calls.at(0).done(ToolResult::done("one"));
  t.settle();
  CHECK(t.held.calls.size() == 1);
  CHECK(t.seen.count("task") == 0);
  t.answer("well");
  CHECK(t.record(1).outcome == ToolOutcome::not_started);
  CHECK(t.record(1).task_id.empty());
}

TEST_CASE("the time-out of a cancelled call changes nothing", "[turn][cancel_call][G10]") {
  CancelCall t({.stop_grace = std::chrono::seconds(60), .tool_timeout = std::chrono::seconds(30)});
  const Agent agent = t.begin({"held"});
  // In the poll of the time-out, before it.
  const Timer timer =
      t.runtime->call_after(std::chrono::seconds(29), [&] { CHECK(agent.cancel_call("x").took_effect()); });
  t.clock.advance(std::chrono::seconds(31));
  t.settle();
  t.advance(std::chrono::seconds(31));
  CHECK(t.seen.with("tool-end") == std::vector<std::string>{"tool-end a x interrupted failed"});
  CHECK(t.history().find("timed out") == std::string::npos);
}

TEST_CASE("a cancel after an interrupt that the loop has not read has no effect",
          "[turn][cancel_call][interrupt][G10][G12]") {
  CancelCall t;
  const Agent agent = t.begin({"held"});
  const bool by_host = GENERATE(false, true);
  CHECK(agent.interrupt({.reason = "Esc"}).took_effect());
  const VerbResult result = by_host ? agent.complete_call("x", ToolResult::done("by hand"))
                                    : agent.cancel_call("x", {.reason = "late"});
  CHECK(result.status == VerbStatus::no_effect);
  CHECK(result.reason == Errc::call_over);
  t.settle();
  CHECK(t.seen.with("tool-end a x") == std::vector<std::string>{"tool-end a x interrupted failed"});
  CHECK(t.result->outcome == TurnOutcome::interrupted);
  CHECK(t.result->error.message == "Esc");
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
  CHECK_FALSE(t.record(0).by_host);
  CHECK(t.record(0).message.starts_with("interrupted: it had begun"));
  CHECK(t.logs("a tool call was cancelled") == 0);
}

TEST_CASE("a cancel after a stop or a delete has no effect", "[turn][cancel_call][G1][G12]") {
  for (const bool terminate : {false, true}) {
    CancelCall t;
    const Agent agent = t.begin({"held", "risky"});
    CHECK((terminate ? agent.terminate() : agent.stop()).took_effect());
    CHECK(agent.cancel_call("x").reason == Errc::call_over);
    CHECK(agent.complete_call("y", ToolResult::done("by hand")).reason == Errc::call_over);
    t.settle();
    CHECK(agent.cancel_call("x").reason == Errc::call_not_found);
    t.held.calls.clear();
    t.settle();
    CHECK(agent.cancel_call("x").reason == (terminate ? Errc::agent_not_found : Errc::call_not_found));
    CHECK(t.logs("a tool call was cancelled") == 0);
  }
}

TEST_CASE("a stop or a delete or the end of the tree may follow a cancel at once",
          "[turn][cancel_call][G1][Q3]") {
  for (int verb = 0; verb < 4; ++verb) {
    CancelCall t;
    const Agent agent = t.begin({"held", "held"}, {.limits = {.parallel_tools = 2}});
    CHECK(agent.cancel_call("x").took_effect());
    if (verb == 0) CHECK(agent.stop().took_effect());
    if (verb == 1) CHECK(agent.terminate().took_effect());
    if (verb == 2) t.tree.reset();
    if (verb == 3) t.runtime.reset();
    if (verb < 2) {
      t.settle();
      CHECK(t.logs("a tool call was cancelled") == 0);
      REQUIRE(t.result);
      CHECK(t.record(0).outcome == ToolOutcome::interrupted);
      CHECK(t.record(0).message ==
            "interrupted: it had begun when its turn ended, and its effect is unknown");
    }
    t.held.calls.clear();
    if (t.runtime) t.settle();
    CHECK(agent.cancel_call("x").reason == (verb == 0   ? Errc::call_not_found
                                            : verb == 3 ? Errc::runtime_gone
                                                        : Errc::agent_not_found));
  }
}

TEST_CASE("a stop callback of the cancelled call may destroy the tree", "[turn][cancel_call][Q3]") {
  CancelCall t;
  const Agent agent = t.begin({"held"});
  const std::stop_callback destroys(t.held.calls.at(0).context.stop(), [&] { t.tree.reset(); });
  CHECK(agent.cancel_call("x").took_effect());
  t.settle();
  CHECK_FALSE(agent.exists());
}

TEST_CASE("an observer of the end of a cancelled call may stop the agent", "[turn][cancel_call][G1][Q3]") {
  for (const char* const moment : {"tool-end", "discarded", "refused", "closed"}) {
    CAPTURE(moment);
    CancelCall t;
    const auto watch = t.tree->on_event([&](const Event& event) {
      if (t.seen.lines.back().starts_with(moment)) static_cast<void>(event.agent().stop());
    });
    const Agent agent = t.begin({"held", "risky", "held"}, {.limits = {.parallel_tools = 2}});
    for (const char* const id : {"x", "y", "z"}) CHECK(agent.cancel_call(id).took_effect());
    t.held.calls.clear();
    t.settle();
    t.llm->cancel_stopped();
    t.settle();
    CHECK(t.state("a") == AgentState::stopped);
    CHECK(is_valid_history(agent.conversation().value()));
  }
}

TEST_CASE("a reason that is no UTF-8 is refused and a long one is cut for the model",
          "[turn][cancel_call][G12][G15]") {
  CancelCall t({.max_tool_result_bytes = 100});
  const Agent agent = t.begin({"held"});
  const VerbResult refused = agent.cancel_call("x", {.reason = "\xff"});
  CHECK(refused.status == VerbStatus::refused);
  CHECK(refused.reason == Errc::invalid_utf8);
  CHECK_FALSE(t.held.calls.at(0).context.stop().stop_requested());
  CHECK(t.tree->cancel_task("task", {.reason = "\xff"}).reason == Errc::invalid_utf8);
  CHECK(agent.cancel_call("x", {.reason = std::string(1000, 'r')}).took_effect());
  t.settle();
  const std::string told = agent.conversation().value().at(2).content();
  CHECK(told.starts_with("error: a person cancelled the call; its effect is unknown; the reason: rrr"));
  CHECK(told.ends_with("bytes more were dropped]"));
  CHECK(told.size() < 150);
}

TEST_CASE("a cancel from another thread is decided by the time it returns", "[turn][cancel_call][G1]") {
  CancelCall t;
  const Agent agent = t.begin({"held"});
  std::thread::id stopped_on;
  const std::stop_callback notes(t.held.calls.at(0).context.stop(),
                                 [&] { stopped_on = std::this_thread::get_id(); });
  VerbResult result;
  std::thread::id other;
  std::thread([&] {
    other = std::this_thread::get_id();
    result = agent.cancel_call("x");
  }).join();
  CHECK(result.took_effect());
  CHECK(stopped_on == other);
  t.held.calls[0].done(ToolResult::done("too late"));
  t.settle();
  t.answer("well");
  CHECK(t.record(0).outcome == ToolOutcome::interrupted);
}

TEST_CASE("an empty handle cancels nothing", "[turn][cancel_call][G12]") {
  CHECK(Agent().cancel_call("x").reason == Errc::agent_not_found);
  CHECK(Agent().complete_call("x", ToolResult::done("")).reason == Errc::agent_not_found);
}

TEST_CASE("the program of a cancelled call has its signal when the cancel returns",
          "[turn][cancel_call][process][G5]") {
  CancelCall t;
  const Fifo fifo;
  t.tools->add(make_subprocess_tool(
      program_spec(),
      running(script("trap 'echo term > $F; exit 0' TERM; echo $$ > $F; while :; do sleep 1; done", &fifo))));
  t.tree.reset();
  t.clock.advance(std::chrono::seconds(0));
  t.tree = std::make_unique<AgentTree>(*t.runtime, TreeOptions{.llm = t.llm.get()});
  const Agent agent = t.tree->create({.id = "a", .tools = t.tools}).value();
  CHECK(agent.send("question"));
  t.settle();
  t.llm->call_tools("a", {{.id = "x", .name = "program"}}, {});
  t.settle();
  const pid_t pid = fifo.pid();
  CHECK(exists(pid));
  CHECK(agent.cancel_call("x").took_effect());
  CHECK(fifo.line() == "term");  // without a poll of the loop
  t.settle();
  CHECK(t.llm->calls() == 2);  // the turn continues before the program has ended
  REQUIRE(t.drive([&] { return t.tree->tasks().size() == 2; }));
  CHECK(no_children());
}

#ifndef SANITIZED
TEST_CASE("without memory a cancel changes nothing and says so", "[turn][cancel_call][out_of_memory]") {
  for (std::size_t n = 1; n < 30; ++n) {
    CancelCall t;
    const Agent agent = t.begin({"held"});
    VerbResult result;
    bool failed = false;
    {
      const FailingAllocation failing(n);
      result = agent.cancel_call("x");
      failed = failing.failed();
    }
    if (!failed) {
      CHECK(n > 1);
      CHECK(result.took_effect());
      return;
    }
    CHECK(result.reason == Errc::out_of_memory);
    CHECK_FALSE(t.held.calls.at(0).context.stop().stop_requested());
    CHECK(agent.cancel_call("x").took_effect());
    t.settle();
    CHECK(t.llm->calls() == 2);
  }
  FAIL("more allocations than expected");
}
#endif
