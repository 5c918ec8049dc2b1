// What went wrong in the programs before this one, once each.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

TEST_CASE("a late answer does not continue an aborted turn", "[turn][Y4][A14][A19]") {
  ToolTurn t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.abort().took_effect());
  t.llm->call_tools("a", {add_call("x", 1, 2), {.name = "held"}}, "late");
  t.settle();
  CHECK(t.state("a") == AgentState::idle);
  CHECK(t.seen.count("tool a") == 0);
  CHECK(t.held.calls.empty());
  CHECK(t.seen.count("delta") == 0);
  CHECK(t.llm->calls() == 1);
  CHECK(t.history() == "user:question!aborted");
}

TEST_CASE("neither an abort that drops the queue nor a stop leaves anything running", "[turn][Y4][X3][C5]") {
  for (const bool stop : {false, true}) {
    ToolTurn t;
    const Agent agent = t.agent();
    t.ask(agent);
    for (int i = 0; i < 3; ++i) CHECK(agent.send("more").accepted());
    if (stop)
      CHECK(agent.stop().took_effect());
    else
      CHECK(agent.abort({.queue = QueueAction::drop}).took_effect());
    t.settle();
    CHECK(agent.queue_length().value() == 0);
    CHECK(t.llm->calls() == 1);
    CHECK(t.seen.count("started") == 1);
  }
}

TEST_CASE("a deleted agent and its tools do not continue", "[turn][Y4][D3][G1]") {
  ToolTurn t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  t.ask(agent);
  t.call({{.name = "bg"}, {.name = "held"}, add_call("y", 1, 1), {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  CHECK(agent.send("more").accepted());
  CHECK(agent.terminate().took_effect());
  CHECK_FALSE(agent.send("too late").accepted());
  for (auto& call : t.held.calls) {
    CHECK(call.context.stop().stop_requested());
    call.context.progress("still here");
    call.done(ToolResult::done("late"));
  }
  t.settle();
  CHECK_FALSE(agent.exists());
  CHECK(t.held.calls.size() == 2);
  CHECK(t.seen.count("progress") == 0);
  CHECK(t.seen.count("tool a y") == 0);
  CHECK(t.seen.count("started") == 1);
  CHECK(t.llm->calls() == 1);
  CHECK(testing::count_references(*t.tree, "a") == 0);
  CHECK(t.seen.lines.back() == "deleted a");
}

TEST_CASE("late results of the tool of a deleted agent are dropped", "[turn][Y4][G7]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(agent.terminate().took_effect());
  t.settle();
  t.advance(std::chrono::seconds(6));
  REQUIRE_FALSE(agent.exists());
  const Agent next = t.agent();  // the id is free again
  t.ask(next);
  const auto before = t.seen.lines;
  bool heard = false;
  t.held.calls[0].context.progress("still here");
  t.held.calls[0].context.ask({.text = "Who am I?"}, [&](const Answer& answer) {
    heard = answer.outcome == QuestionOutcome::cancelled;
  });
  CHECK(t.held.calls[0].context.agent().send("to myself").reason == Errc::agent_not_found);
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(heard);
  CHECK(t.seen.lines == before);
  CHECK(next.queue_length().value() == 0);
}

TEST_CASE("no tool leaves its agent in processing", "[turn][Y4][B6]") {
  // How the tool `held` ends: as a dropped call, too late, or never.
  for (const std::string how : {"throws", "drops", "late", "never"}) {
    CAPTURE(how);
    ToolTurn t({.tool_timeout = std::chrono::seconds(30)});
    const Agent agent = t.agent();
    t.ask(agent);
    t.call({{.name = how == "throws" ? "throws" : "held"}});
    if (how == "drops") t.held.calls.clear();
    if (how == "late" || how == "never") {
      CHECK(t.state("a") == AgentState::processing);
      t.clock.advance(std::chrono::seconds(31));
    }
    t.settle();
    if (how == "late") t.held.calls.at(0).done(ToolResult::done("late"));
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    t.answer("well");
    CHECK(t.state("a") == AgentState::idle);
    t.ask(agent, "again");
    t.answer("yes");
    CHECK(t.seen.count("ended a 2 completed") == 1);
  }
}

TEST_CASE("an abort of a missing agent returns agent_not_found", "[turn][Y4][A11][A12]") {
  ToolTurn t;
  const VerbResult unknown = t["nobody"].abort();
  CHECK_FALSE(unknown.accepted());
  CHECK_FALSE(unknown.took_effect());
  CHECK(unknown.reason == Errc::agent_not_found);
  CHECK(to_string(unknown.reason) == "agent_not_found");
  CHECK(t.tree->find("").error().code == Errc::missing_agent_id);
  CHECK(Agent{}.abort().reason == Errc::agent_not_found);
}

TEST_CASE("a stop drops messages sent before it but none sent after the resume", "[turn][Y4][F3][C23]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.send("before").accepted());
  CHECK(agent.stop().took_effect());
  CHECK(agent.send("meanwhile").reason == Errc::agent_stopping);
  t.settle();
  CHECK(agent.resume().took_effect());
  CHECK(agent.send("after").accepted());  // at once, before the loop has heard of either
  CHECK(agent.queue_length().value() == 1);
  t.settle();
  REQUIRE(t.llm->calls() == 2);
  CHECK(t.history() == "user:question!stopped, user:after");
}

TEST_CASE("a refused send returns the reason and queues nothing", "[turn][Y4][X5][G12]") {
  ToolTurn t({.max_message_bytes = 10});
  const Agent agent = t.agent({.limits = {.mailbox = 1}});
  CHECK(agent.send("one").accepted());
  CHECK(agent.send("two").reason == Errc::mailbox_full);
  CHECK(agent.send("much too long").reason == Errc::message_too_large);
  CHECK(agent.send("\xff").reason == Errc::invalid_utf8);
  CHECK(agent.queue_length().value() == 1);
  t.settle();
  CHECK(agent.stop().took_effect());
  CHECK(agent.send("x").reason == Errc::agent_stopping);
  CHECK(agent.simulate("x").reason == Errc::agent_stopping);
  t.settle();
  CHECK(agent.send("x").reason == Errc::agent_stopped);
  CHECK(agent.terminate().took_effect());
  CHECK(agent.send("x").reason == Errc::agent_terminating);
  t.settle();
  CHECK(agent.send("x").reason == Errc::agent_not_found);
  CHECK(t["nobody"].send("x").reason == Errc::agent_not_found);
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("a stopped agent resumes by a resume and with auto-resume by a send", "[turn][Y4][X4]") {
  for (const bool by_send : {false, true}) {
    ToolTurn t;
    const Agent agent = t.agent({.auto_resume = by_send});
    t.ask(agent);
    t.call({{.name = "held"}});
    CHECK(agent.stop().took_effect());
    t.held.calls.clear();
    t.settle();
    CHECK(t.state("a") == AgentState::stopped);
    if (!by_send) {
      CHECK_FALSE(agent.send("again").accepted());
      CHECK(agent.resume().took_effect());
    }
    CHECK(agent.send("again").accepted());
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    t.call({add_call("y", 1, 2)});
    t.answer("three");
    CHECK(t.seen.count("ended a 2 completed") == 1);
  }
}

TEST_CASE("a stop is noticed by a callback and not by polling", "[turn][X27]") {
  ToolTurn t;
  t.tools->add({{.name = "bg", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  t.ask(agent);
  t.call({{.name = "bg"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  const TimePoint before = t.runtime->now();
  CHECK_FALSE(t.runtime->poll());  // nothing is ready while they run
  int heard = 0;
  {
    const auto hear = [&] { ++heard; };
    const std::stop_callback<std::function<void()>> first(t.held.calls[0].context.stop(), hear);
    const std::stop_callback<std::function<void()>> second(t.held.calls[1].context.stop(), hear);
    CHECK(agent.stop().took_effect());
    CHECK(heard == 2);  // by the stop itself
  }
  int polls = 0;
  while (t.runtime->poll()) ++polls;
  CHECK(polls <= 2);
  CHECK(t.state("a") == AgentState::stopping);
  t.held.calls.clear();  // ends
  polls = 0;
  while (t.runtime->poll()) ++polls;
  CHECK(polls <= 2);
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.runtime->now() == before);
}
