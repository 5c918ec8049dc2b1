// Why a late result was discarded.
#include "support/drive/tool_turn.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Lines = std::vector<std::string>;

// "answer stopped" for each Discarded of a tree.
struct Discards {
  explicit Discards(AgentTree& tree)
      : events(tree.on<Discarded>([this](const Discarded& late) {
          lines.push_back(std::string(to_string(late.kind)) + " " + std::string(to_string(late.reason)));
        })) {}

  Lines lines;
  Subscription events;
};

// A call of the tool `held` that runs.
struct Held : ToolTurn {
  explicit Held(TreeOptions options = {}) : ToolTurn(options), discards(*tree) {
    a = agent({.limits = {.background_tasks = 1}});
    ask(a);
    call({{.id = "x", .name = "held"}});
    REQUIRE(held.calls.size() == 1);
  }
  // The tool delivers, and everything settles.
  Lines deliver() {
    settle();
    held.calls[0].done(ToolResult::done("late"));
    settle();
    return discards.lines;
  }

  Discards discards;
  Agent a;
};

}  // namespace

TEST_CASE("a discarded answer says which verb had ended its turn", "[turn][discard][F7][X39]") {
  struct Way {
    std::string reason;
    std::function<void(const Agent&)> end;
  };
  const Way ways[] = {
      {"stopped", [](const Agent& agent) { CHECK(agent.stop().took_effect()); }},
      {"stopped", [](const Agent& agent) { CHECK(agent.parent().value().stop().took_effect()); }},
      {"deleted", [](const Agent& agent) { CHECK(agent.terminate().took_effect()); }},
      {"deleted", [](const Agent& agent) { CHECK(agent.parent().value().terminate().took_effect()); }},
      {"interrupted", [](const Agent& agent) { CHECK(agent.interrupt().took_effect()); }},
      {"interrupted",
       [](const Agent& agent) {
         CHECK(agent.parent().value().interrupt({.scope = Scope::subtree}).took_effect());
       }},
      {"aborted", [](const Agent& agent) { CHECK(agent.abort().took_effect()); }},
      {"stopped",
       [](const Agent& agent) {
         CHECK(agent.stop().took_effect());
         CHECK(agent.terminate().took_effect());
       }},
  };
  for (const Way& way : ways) {
    for (const bool read_by_the_loop : {true, false}) {
      CAPTURE(way.reason, read_by_the_loop);
      TreeFixture t;
      t.llm->on_stop = OnStop::deaf;
      Discards discards(*t.tree);
      const Agent agent = t.child(t.root("top"), "a");
      t.ask(agent);
      way.end(agent);
      if (read_by_the_loop) t.settle();
      t.llm->complete(t.llm->call(0));
      t.settle();
      CHECK(discards.lines == Lines{"answer " + way.reason});
      CHECK(t.logged("debug late result discarded agent=a kind=answer reason=" + way.reason));
    }
  }
}

TEST_CASE("a discarded tool result says what had ended its call", "[turn][discard][F7]") {
  SECTION("a stop") {
    Held t;
    CHECK(t.a.stop().took_effect());
    CHECK(t.deliver() == Lines{"tool_result stopped"});
  }
  SECTION("a delete") {
    Held t;
    CHECK(t.a.terminate().took_effect());
    CHECK(t.deliver() == Lines{"tool_result deleted"});
  }
  SECTION("an interrupt, and a stop after it") {
    Held t;
    CHECK(t.a.interrupt().took_effect());
    t.settle();
    CHECK(t.a.stop().took_effect());
    CHECK(t.deliver() == Lines{"tool_result interrupted"});
  }
  SECTION("its cancel") {
    Held t;
    CHECK(t.a.cancel_call("x").took_effect());
    CHECK(t.deliver() == Lines{"tool_result cancelled"});
  }
  SECTION("its cancel, which the loop has not read") {
    Held t;
    CHECK(t.a.cancel_call("x").took_effect());
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(t.discards.lines == Lines{"tool_result cancelled"});
  }
  SECTION("its cancel by another thread just before its result") {
    Held t;
    // The loop does what was posted, and reads the verb in its next round.
    t.runtime->post([&] { std::thread([&] { CHECK(t.a.cancel_call("x").took_effect()); }).join(); });
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(t.discards.lines == Lines{"tool_result cancelled"});
  }
  SECTION("the host's own result by another thread just before that of the tool") {
    Held t;
    t.runtime->post([&] {
      std::thread([&] { CHECK(t.a.complete_call("x", ToolResult::done("by hand")).took_effect()); }).join();
    });
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(t.discards.lines == Lines{"tool_result completed_by_host"});
  }
  SECTION("the host's own result") {
    Held t;
    CHECK(t.a.complete_call("x", ToolResult::done("by hand")).took_effect());
    CHECK(t.deliver() == Lines{"tool_result completed_by_host"});
  }
  SECTION("the host's own result, which the loop has not read") {
    Held t;
    CHECK(t.a.complete_call("x", ToolResult::done("by hand")).took_effect());
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(t.discards.lines == Lines{"tool_result completed_by_host"});
  }
  SECTION("a stop, which ends the host's result too") {
    Held t;
    CHECK(t.a.complete_call("x", ToolResult::done("by hand")).took_effect());
    CHECK(t.a.stop().took_effect());
    t.settle();
    CHECK(t.discards.lines == Lines{"tool_result stopped"});
  }
  SECTION("its time-out") {
    Held t({.tool_timeout = std::chrono::seconds(1)});
    t.advance(std::chrono::seconds(2));
    CHECK(t.deliver() == Lines{"tool_result timed_out"});
  }
  SECTION("the end of the grace period") {
    Held t;
    CHECK(t.a.interrupt().took_effect());
    t.settle();
    t.advance(std::chrono::seconds(6));
    CHECK(t.seen.with("abandoned").size() == 1);
    CHECK(t.deliver() == Lines{"tool_result given_up"});
  }
}

TEST_CASE("a discarded result of a task says what had ended the task", "[turn][discard][F7]") {
  for (const std::string reason : {"cancelled", "stopped", "deleted", "timed_out"}) {
    CAPTURE(reason);
    ToolTurn t;
    Discards discards(*t.tree);
    t.tools->add(
        {{.name = "later", .mode = ToolMode::async, .timeout = std::chrono::minutes(1)}, t.held.start()});
    const Agent agent = t.agent({.limits = {.background_tasks = 1}});
    t.ask(agent);
    t.call({{.name = "later"}});
    t.answer("started");
    REQUIRE(t.tree->tasks().size() == 1);
    if (reason == "cancelled") CHECK(t.tree->cancel_task(t.tree->tasks()[0].id).took_effect());
    if (reason == "stopped") CHECK(agent.stop().took_effect());
    if (reason == "deleted") CHECK(agent.terminate().took_effect());
    if (reason == "timed_out") t.advance(std::chrono::minutes(2));
    t.held.calls[0].done(ToolResult::done("late"));
    t.settle();
    CHECK(discards.lines == Lines{"tool_result " + reason});
  }
}

TEST_CASE("an answer that was too long is discarded because its turn is over", "[turn][discard][F7]") {
  TreeFixture t({.max_answer_bytes = 4});
  t.llm->on_stop = OnStop::deaf;
  Discards discards(*t.tree);
  const Agent agent = t.root("a");
  t.ask(agent);
  t.llm->delta("a", "more than four");
  t.settle();
  CHECK(t.seen.count("ended a 1 failed") == 1);
  t.llm->complete(t.llm->call(0));
  t.settle();
  CHECK(discards.lines == Lines{"answer turn_over"});
}

TEST_CASE("a result of each call of an ended turn says what had ended it, also in the next turn",
          "[turn][discard][F7]") {
  ToolTurn t;
  Discards discards(*t.tree);
  const bool deadline = GENERATE(false, true);
  const Agent agent = t.agent({.limits = {.parallel_tools = 3, .turn_timeout = std::chrono::seconds(10)}});
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}, {.id = "z", .name = "held"}});
  REQUIRE(t.held.calls.size() == 3);
  if (deadline)
    t.advance(std::chrono::seconds(10));
  else
    CHECK(agent.interrupt().took_effect());
  t.settle();
  t.ask(agent, "next");
  for (HeldTool::Call& call : t.held.calls) call.done(ToolResult::done("late"));
  t.settle();
  CHECK(discards.lines == Lines(3, deadline ? "tool_result deadline_exceeded" : "tool_result interrupted"));
}

TEST_CASE("an answer that comes after the deadline of its turn says so", "[turn][discard][deadline][F7]") {
  const bool read_by_the_loop = GENERATE(true, false);
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  Discards discards(*t.tree);
  const Agent agent = t.root("a", {.limits = {.turn_timeout = std::chrono::seconds(10)}});
  t.ask(agent);
  if (read_by_the_loop)
    t.advance(std::chrono::seconds(10));
  else
    t.clock.advance(std::chrono::seconds(10));
  t.llm->complete(t.llm->call(0));
  t.settle();
  CHECK(t.seen.count("ended a 1 failed") == 1);
  CHECK(discards.lines.size() == 1);
  if (read_by_the_loop) CHECK(discards.lines == Lines{"answer deadline_exceeded"});
}
