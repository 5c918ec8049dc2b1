// testing::count_references() looks at every table and queue.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

#include <cstddef>

using namespace agentcore;
using namespace agentcore::test;
using testing::count_references;

namespace {

// An agent "a" that does nothing has this many references: its slot, its id, and its name.
constexpr std::size_t idle = 3;

struct Counted : ToolTurn {
  explicit Counted(TreeOptions options = {.kept_results = 0}) : ToolTurn(options), a(agent()) {
    seen.unwatch();
    ends.reset();
  }
  std::size_t count() const { return count_references(*tree, "a"); }
  // After a delete nothing is left.
  void end() {
    CHECK((a.terminate().took_effect() || !a.exists()));
    settle();
    for (HeldTool::Call& call : held.calls) call.done(ToolResult::done("late"));
    settle();
    CHECK(count() == 0);
    tree->create({.id = "a"}).value();
    CHECK(count() == idle);
  }

  Agent a;
};

}  // namespace

TEST_CASE("count_references finds what refers to an agent in every queue", "[tree][references][G13]") {
  Counted t;
  REQUIRE(t.count() == idle);
  SECTION("messages that wait, urgent ones too") {
    CHECK(t.a.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    t.settle();
    CHECK(t.a.send("one"));
    CHECK(t.a.send({.text = "two", .priority = MessagePriority::urgent}));
    t.settle();
    CHECK(t.count() == idle + 2);
    CHECK(t.a.queued().value().size() == 2);  // moved to the backlog
    CHECK(t.count() == idle + 2);
  }
  SECTION("the list of ready agents") {
    CHECK(t.a.send("one"));
    CHECK(t.count() == idle + 2);
  }
  SECTION("a turn and its model call") {
    t.ask(t.a);
    CHECK(t.count() == idle + 2);
  }
  SECTION("a tool call, its operation and its question") {
    t.ask(t.a);
    t.call({{.id = "x", .name = "held"}});
    CHECK(t.count() == idle + 3);  // the message, the operation, the claim
    t.held.calls[0].context.ask({.text = "Which?"}, [](const Answer&) {});
    CHECK(t.count() == idle + 4);
    SECTION("a call that lingers") {
      CHECK(t.a.interrupt().took_effect());
      t.settle();
      CHECK(t.count() == idle + 1);
      t.advance(std::chrono::seconds(6));
      CHECK(t.count() == idle);
    }
  }
  SECTION("messages for the running turn") {
    t.ask(t.a);
    CHECK(t.a.steer("shorter"));
    t.settle();
    CHECK(t.count() == idle + 2 + 2);  // the message, the call; the steered message, and its list
  }
  SECTION("verbs that the loop has not read") {
    CHECK(t.a.stop().took_effect());
    CHECK(t.count() == idle + 1);
  }
  SECTION("an interrupt with a reason") {
    t.ask(t.a);
    CHECK(t.a.interrupt({.reason = "enough"}).took_effect());
    CHECK(t.count() == idle + 4);  // the message, the call, the verb and its origin
    t.settle();
    CHECK(t.count() == idle);
  }
  SECTION("a stop that waits") {
    t.llm->on_stop = OnStop::deaf;
    t.ask(t.a);
    CHECK(t.a.stop().took_effect());
    t.settle();
    CHECK(t.count() == idle + 2);  // the call, the stop
    t.advance(std::chrono::seconds(6));
  }
  SECTION("callbacks of the agent") {
    const auto turns = t.a.on<TurnEnded>([](const TurnEnded&) {});
    CHECK(t.count() == idle + 1);
    CHECK(t.a.terminate().took_effect());
    t.settle();
    CHECK(t.count() == 0);
  }
  SECTION("callbacks of a message") {
    CHECK(t.a.send("one", {.on_end = [](const MessageEnd&) {}}));
    t.settle();
    CHECK(t.count() == idle + 3);  // the message, the call, the callback
  }
  SECTION("an event that is still to be delivered") {
    std::size_t within = 0;
    const auto creations = t.tree->on<AgentCreated>([&](const AgentCreated& created) {
      if (created.agent.id() != "other") return;
      CHECK(t.a.drop_queue().has_value());
      within = t.count();
    });
    CHECK(t.a.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    t.settle();
    const auto drops = t.tree->on<MessageDropped>([](const MessageDropped&) {});
    CHECK(t.a.send("dropped while an event is delivered"));
    t.settle();
    t.root("other");
    CHECK(within == idle + 1);
    CHECK(t.count() == idle);
  }
  t.end();
}

TEST_CASE("count_references counts kept results and background tasks", "[tree][references][G13]") {
  ToolTurn t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  t.ask(agent);
  t.call({{.name = "later"}});
  t.answer("started");
  CHECK(count_references(*t.tree, "a") == idle + 3);  // the result of the turn, the operation, the claim
  CHECK(agent.terminate().took_effect());
  t.settle();
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(count_references(*t.tree, "a") == 0);
}

TEST_CASE("count_references of an id that is free counts what any deleted agent has left",
          "[tree][references]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK(count_references(*t.tree, "nobody") == 0);
  CHECK(agent.terminate().status == VerbStatus::refused);
  const Agent other = t.root("b");
  CHECK(count_references(*t.tree, "nobody") == 0);
}
