// Stops and deletes that are called for later: StopOptions::when.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/executor.hpp>
#include <agentcore/testing/references.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

constexpr StopWhen after_step = StopWhen::after_step;
constexpr StopWhen after_turn = StopWhen::after_turn;

std::optional<StopWhen> pending(const Agent& agent) {
  return agent.status().value().stop_pending;
}

// Begins nothing.
struct SilentExecutor final : Executor {
  void submit(std::function<void()>) override {}
};

}  // namespace

TEST_CASE("a stop of an agent that does nothing takes effect in the next poll", "[tree][stop][later][C9]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const StopWhen when = GENERATE(after_step, after_turn);
  CHECK(agent.stop({.reason = "enough", .when = when}).took_effect());
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(pending(agent) == when);
  CHECK(agent.send("one").reason == Errc::agent_stopping);
  CHECK(agent.steer("one").reason == Errc::agent_stopping);
  CHECK(agent.simulate("one").reason == Errc::agent_stopping);
  t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK_FALSE(pending(agent));
  CHECK(t.seen.count("pending a " + std::string(to_string(when))) == 1);
  CHECK(t.seen.count("settled a") == 1);
  CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(agent.send("one"));
}

TEST_CASE("a stop after the turn lets all steps of the turn run and no other turn",
          "[tree][stop][later][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.send("next"));
  std::optional<StopReport> report;
  CHECK(
      agent.stop({.when = after_turn, .on_settled = [&](const StopReport& r) { report = r; }}).took_effect());
  t.settle();
  t.call({{.name = "held"}});
  CHECK(t.held.calls.size() == 1);
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(t.llm->calls() == 2);
  CHECK_FALSE(report);
  t.answer("words");
  t.settle();
  CHECK(t.result->text == "words");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(agent.state().value() == AgentState::stopped);
  REQUIRE(report);
  CHECK(report->messages_dropped == 1);
  CHECK(t.seen.count("started a") == 1);
  CHECK(t.llm->calls() == 2);
}

TEST_CASE("a stop after the step lets its tools run and asks no model again", "[tree][stop][later][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.stop({.when = after_step}).took_effect());
  t.settle();
  SECTION("the answer has tools") {
    t.call({{.name = "held"}, {.name = "held"}});
    CHECK(t.held.calls.size() == 1);
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
    CHECK(t.held.calls.size() == 2);
    CHECK(agent.state().value() == AgentState::processing);
    t.held.calls[1].done(ToolResult::done("y"));
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(t.result->outcome == TurnOutcome::stopped);
    CHECK(t.result->calls.at(1).outcome == ToolOutcome::completed);
  }
  SECTION("the answer ends the turn") {
    t.answer("words");
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a stop that waits too long takes effect", "[tree][stop][later][G4]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.stop({.when = after_turn, .escalate_after = 10s}).took_effect());
  t.settle();
  t.advance(9s);
  CHECK(agent.state().value() == AgentState::waiting_llm);
  t.advance(1s);
  CHECK(t.result->outcome == TurnOutcome::stopped);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a stricter stop replaces a softer one and never the other way round", "[tree][stop][later]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  std::vector<std::string> reports;
  const auto stop = [&](StopWhen when, std::string name) {
    return agent.stop({.reason = name, .when = when, .on_settled = [&reports, name](const StopReport&) {
                         reports.push_back(name);
                       }});
  };
  SECTION("after_turn, after_step") {
    CHECK(stop(after_turn, "turn").took_effect());
    CHECK(stop(after_step, "step").took_effect());
    CHECK(pending(agent) == after_step);
    t.settle();
    t.call({{.name = "add", .arguments = R"({"a":1,"b":2})"}});
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(reports.size() == 2);
  }
  SECTION("after_step, after_turn") {
    CHECK(stop(after_step, "step").took_effect());
    const VerbResult second = stop(after_turn, "turn");
    CHECK(second.status == VerbStatus::no_effect);
    CHECK(second.reason == Errc::stop_pending);
    CHECK(pending(agent) == after_step);
    t.settle();
    t.call({{.name = "add", .arguments = R"({"a":1,"b":2})"}});
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(reports.size() == 2);  // the second waited for the first
  }
  SECTION("after_turn, now") {
    CHECK(stop(after_turn, "turn").took_effect());
    const bool read = GENERATE(true, false);
    if (read) t.settle();
    CHECK(stop(StopWhen::now, "now").took_effect());
    CHECK(agent.state().value() == AgentState::stopping);
    CHECK_FALSE(pending(agent));
    t.settle();
    CHECK(reports.size() == 2);
    CHECK(t.result->outcome == TurnOutcome::stopped);
  }
  SECTION("now, after_turn") {
    CHECK(stop(StopWhen::now, "now").took_effect());
    CHECK(stop(after_turn, "turn").reason == Errc::agent_stopping);
    t.settle();
    CHECK(reports.size() == 2);
  }
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(reports.size() == 2);
}

TEST_CASE("a resume withdraws a stop without a loss", "[tree][stop][later]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.send("next"));
  bool reported = false;
  const bool deletes = GENERATE(true, false);
  if (deletes)
    CHECK(agent.terminate({.when = after_step, .on_settled = [&](const StopReport&) { reported = true; }})
              .took_effect());
  else
    CHECK(agent.stop({.when = after_step, .on_settled = [&](const StopReport&) { reported = true; }})
              .took_effect());
  SECTION("while the call runs") {
    const bool read = GENERATE(true, false);
    if (read) t.settle();
    CHECK(agent.resume().took_effect());
    CHECK_FALSE(pending(agent));
    CHECK(agent.resume().reason == Errc::not_stopped);
    t.settle();
    CHECK(t.seen.count("withdrawn a after_step") == 1);
    t.call({{.name = "held"}});
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
  }
  SECTION("and its turn that was parked goes on") {
    const Agent child = agent.create_child({.id = "c", .tools = t.tools}).value();
    CHECK(pending(child) == after_step);  // so the agent is not at rest yet: its child's tool runs
    t.call({{.name = "held"}});
    t.settle();
    t.held.calls[0].done(ToolResult::done("x"));
    CHECK(agent.resume().took_effect());
    t.settle();
  }
  CHECK(t.llm->calls() == 2);
  t.answer("words");
  t.settle();
  CHECK(t.seen.count("started a") == 2);
  t.answer("words");
  t.settle();
  CHECK(t.seen.count("ended a 2 completed") == 1);
  CHECK_FALSE(reported);
  CHECK(t.seen.count("settled") == 0);
}

TEST_CASE("stops of many agents that wait too long take effect although another is just withdrawn",
          "[tree][stop][later][G4]") {
  ToolTurn t;
  std::vector<Agent> agents;
  for (const char* const id : {"a", "b", "c"}) {
    agents.push_back(t.tree->create({.id = id, .tools = t.tools}).value());
    CHECK(agents.back().send("question"));
  }
  t.settle();
  const Agent withdrawn = agents.back();
  CHECK(withdrawn.stop({.when = after_turn}).took_effect());
  // Its timer comes first: the loop reads the withdrawal after the other two have waited too long.
  const Subscription on_ended = t.tree->on<TurnEnded>([&](const TurnEnded& ended) {
    if (ended.agent.id() == "d") CHECK(withdrawn.resume().took_effect());
  });
  const Agent first = t.tree->create({.id = "d", .limits = {.turn_timeout = 10s}}).value();
  CHECK(first.send("question"));
  t.settle();
  for (const std::size_t i : {0u, 1u})
    CHECK(agents[i].stop({.when = after_turn, .escalate_after = 10s}).took_effect());
  t.settle();
  t.advance(10s);
  CHECK(agents[0].state().value() == AgentState::stopped);
  CHECK(agents[1].state().value() == AgentState::stopped);
  CHECK(withdrawn.state().value() == AgentState::waiting_llm);
}

TEST_CASE("a stop of a subtree waits for what runs below", "[tree][stop][later][C9]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const Agent child = agent.create_child({.id = "c", .tools = t.tools}).value();
  CHECK(child.send("question"));
  t.settle();
  const bool cascade = GENERATE(true, false);
  CHECK(agent.stop({.scope = cascade ? Scope::subtree : Scope::agent, .when = after_turn}).took_effect());
  t.settle();
  CHECK(pending(child).has_value() == cascade);
  if (cascade) {
    CHECK(agent.state().value() == AgentState::idle);
    CHECK(child.send("more").reason == Errc::agent_stopping);
    const Agent born = child.create_child({.id = "born"}).value();
    CHECK(pending(born) == after_turn);
    t.llm->answer("c", "words");
    t.settle();
    CHECK(child.state().value() == AgentState::stopped);
  } else {
    CHECK(agent.state().value() == AgentState::stopped);
    CHECK(child.send("more"));
    t.llm->answer("c", "words");
    t.settle();
    CHECK(t.seen.count("started c") == 2);
    CHECK(child.stop().took_effect());
    t.settle();
  }
  CHECK(t.seen.count("ended c 1 completed") == 1);
}

TEST_CASE("a stop of all descendants for later waits for each of them", "[tree][stop][later][C9]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const Agent busy = agent.create_child({.id = "busy", .tools = t.tools}).value();
  const Agent idle = agent.create_child({.id = "idle"}).value();
  CHECK(busy.send("question"));
  t.settle();
  std::optional<StopReport> report;
  CHECK(agent
            .stop({.scope = Scope::descendants,
                   .when = after_turn,
                   .on_settled = [&](const StopReport& r) { report = r; }})
            .took_effect());
  t.settle();
  CHECK(idle.state().value() == AgentState::stopped);
  CHECK(pending(busy) == after_turn);
  CHECK_FALSE(pending(agent));
  CHECK_FALSE(report);
  t.llm->answer("busy", "words");
  t.settle();
  CHECK(busy.state().value() == AgentState::stopped);
  REQUIRE(report);
  CHECK(report->descendants.size() == 2);
}

TEST_CASE("a stop for later hears of a turn that ends while it waits for its next step",
          "[tree][stop][later][C9][G5]") {
  ToolTurn t;
  const Agent other = t.root("other");
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.stop({.scope = Scope::agent, .when = after_step}).took_effect());
  CHECK(t.tree->stop_all({.when = after_turn}).took_effect());
  t.settle();
  t.call({{.name = "held"}});
  REQUIRE(t.held.calls.size() == 1);
  t.held.calls[0].done(ToolResult::done("x"));  // the next step is withheld, and the turn has no operation
  t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(other.state().value() == AgentState::stopped);  // by stop_all()
}

TEST_CASE("a stop for later hears of a turn whose call is closed before it begins",
          "[tree][stop][later][C9][G5]") {
  ToolTurn t;
  SilentExecutor executor;
  t.tools->add(make_blocking_tool({.name = "waits"}, &executor,
                                  [](const nlohmann::json&, const ToolContext&) { return ToolResult(); }));
  const Agent other = t.root("other");
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "waits"}});
  CHECK(t.tree->stop_all({.when = after_turn}).took_effect());
  t.settle();
  CHECK(other.state().value() == AgentState::idle);
  CHECK(agent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  CHECK(other.state().value() == AgentState::stopped);
}

TEST_CASE("a stop for later hears of a call that is given up", "[tree][stop][later][C9][G5]") {
  ToolTurn t;
  const Agent other = t.root("other");
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(t.tree->stop_all({.when = after_turn}).took_effect());
  CHECK(agent.stop({.scope = Scope::agent, .grace = 1s}).took_effect());
  t.settle();
  CHECK(other.state().value() == AgentState::idle);  // the call runs on
  t.advance(1s);
  CHECK(t.seen.count("abandoned a tool call held") == 1);
  CHECK(other.state().value() == AgentState::stopped);
}

TEST_CASE("a delete for later deletes after the turn", "[tree][delete][later][G13]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  std::optional<StopReport> report;
  CHECK(agent.terminate({.when = after_turn, .on_settled = [&](const StopReport& r) { report = r; }})
            .took_effect());
  t.settle();
  CHECK(agent.exists());
  SECTION("the turn ends") {
    t.answer("words");
  }
  SECTION("a stop comes before") {
    CHECK(agent.stop().took_effect());
    t.settle();
  }
  SECTION("a stop of an ancestor comes before") {
    CHECK(t.tree->stop_all().took_effect());
    t.settle();
  }
  t.settle();
  CHECK_FALSE(agent.exists());
  CHECK(report);
  CHECK(testing::count_references(*t.tree, "a") == 0);
}

TEST_CASE("a stop of an ancestor takes in the stop that waits below it", "[tree][stop][later][C9]") {
  ToolTurn t;
  const Agent root = t.tree->create({.id = "root"}).value();
  const Agent leaf = root.create_child({.id = "leaf", .tools = t.tools}).value();
  CHECK(leaf.send("question"));
  t.settle();
  int reports = 0;
  CHECK(leaf.stop({.when = after_turn, .on_settled = [&](const StopReport&) { ++reports; }}).took_effect());
  const bool read = GENERATE(true, false);
  if (read) t.settle();
  CHECK(root.stop().took_effect());
  t.settle();
  CHECK(reports == 1);
  CHECK(leaf.state().value() == AgentState::stopped);
  CHECK(root.resume().took_effect());
  t.settle();
  CHECK(root.state().value() == AgentState::idle);
  CHECK(leaf.state().value() == AgentState::stopped);  // by a stop of its own
  CHECK(leaf.resume().took_effect());
  t.settle();
  CHECK(leaf.state().value() == AgentState::idle);
}

TEST_CASE("a background task may end before a stop for later takes effect",
          "[tree][stop][later][background]") {
  ToolTurn t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  t.ask(agent);
  t.call({{.name = "later"}});
  t.answer("started");
  CHECK(agent.stop({.when = after_turn}).took_effect());
  t.settle();
  CHECK(agent.state().value() == AgentState::idle);
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(t.seen.count("cancelled") == 0);
}

TEST_CASE("a stop for later and a pause", "[tree][stop][later][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  const StopWhen when = GENERATE(after_step, after_turn);
  CHECK(agent.pause().took_effect());
  t.call({{.name = "held"}});
  t.settle();
  CHECK(agent.stop({.when = when}).took_effect());
  t.settle();
  CHECK(agent.state().value() == AgentState::processing);
  CHECK(t.held.calls.empty());
  CHECK(agent.unpause().took_effect());
  t.settle();
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  if (when == after_turn) t.answer("words");
  t.settle();
  CHECK(t.result->outcome == (when == after_turn ? TurnOutcome::completed : TurnOutcome::stopped));
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::completed);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a pause between two calls of an answer does not make its step end", "[tree][stop][later][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}, {.name = "held"}});
  CHECK(agent.stop({.when = after_step}).took_effect());
  CHECK(agent.pause().took_effect());
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(agent.state().value() == AgentState::processing);
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(agent.unpause().took_effect());
  t.settle();
  t.held.calls[1].done(ToolResult::done("y"));
  t.settle();
  CHECK(t.result->calls.at(1).outcome == ToolOutcome::completed);
  CHECK(t.llm->calls() == 1);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a stop after the step of a turn that a pause withholds from its next step does not wait",
          "[tree][stop][later][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(agent.pause().took_effect());
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(agent.stop({.when = after_step}).took_effect());
  t.settle();
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::completed);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a stop after the turn waits for a turn that a pause holds between two steps",
          "[tree][stop][later][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(agent.pause().took_effect());
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(t.llm->calls() == 1);
  const bool unpaused_first = GENERATE(false, true);
  if (unpaused_first) CHECK(agent.unpause().took_effect());
  CHECK(agent.stop({.when = after_turn}).took_effect());
  t.settle();
  if (!unpaused_first) {
    CHECK(agent.state().value() == AgentState::processing);  // between the steps is not after the turn
    CHECK(pending(agent) == after_turn);
    CHECK_FALSE(t.result);
    CHECK(agent.unpause().took_effect());
    t.settle();
  }
  CHECK(t.llm->calls() == 2);  // its steps go on
  t.answer("words");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("of several deferred stops the newest says why", "[tree][stop][later]") {
  ToolTurn t;
  const Agent agent = t.agent();
  std::vector<std::string> reasons, told;
  const auto watch = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::stopping) reasons.emplace_back(change.origin.reason());
  });
  const auto stop = [&](const std::string& reason, StopWhen when) {
    StopOptions options{.reason = reason, .when = when};
    options.on_settled = [&told, reason](const StopReport&) { told.push_back(reason); };
    CHECK(agent.stop(std::move(options)).took_effect());
  };
  t.ask(agent);
  const bool polls = GENERATE(false, true);
  stop("first", after_turn);
  if (polls) t.settle();
  stop("second", after_step);
  t.settle();
  t.answer("words");
  CHECK(agent.state().value() == AgentState::stopped);
  CHECK(reasons == std::vector<std::string>{"second"});
  CHECK(told.size() == 2);
}

TEST_CASE("a pending stop takes effect when a turn that waits for an approval is ended",
          "[tree][stop][later][interrupt][rewind]") {
  const bool rewinds = GENERATE(true, false);
  const StopWhen when = GENERATE(after_turn, after_step);
  ToolTurn t;
  t.tools->add({{.name = "careful", .needs_approval = true}, t.held.start()});
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "careful"}});
  REQUIRE(t.tree->questions().size() == 1);
  CHECK(agent.stop({.when = when}).took_effect());
  t.settle();
  CHECK(agent.state().value() != AgentState::stopped);
  if (rewinds)
    CHECK(agent.rewind(1));
  else
    CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("the verbs of one turn go through a pending stop", "[tree][stop][later][interrupt]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.stop({.when = after_turn}).took_effect());
  const bool read = GENERATE(true, false);
  if (read) t.settle();
  const bool interrupts = GENERATE(true, false);
  CHECK((interrupts ? agent.interrupt() : agent.abort()).took_effect());
  t.settle();
  CHECK(t.result->outcome == (interrupts ? TurnOutcome::interrupted : TurnOutcome::aborted));
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("who may stop now may stop later", "[tree][stop][later][C20]") {
  ToolTurn t;
  const Agent user = t.tree->create({.id = "user", .role = AgentRole::user}).value();
  CHECK(user.stop({.when = after_turn}).reason == Errc::cannot_stop_user);
  const Agent agent = t.agent();
  CHECK(agent.stop({.caller = "user", .when = after_turn}).reason == Errc::not_child_agent);
  CHECK(agent.stop({.cause = StopCause::deadline, .when = after_turn}).took_effect());
  t.settle();
  CHECK(agent.stop({.when = after_turn}).reason == Errc::agent_stopped);
  CHECK(agent.terminate({.when = after_turn}).took_effect());
  t.settle();
  CHECK_FALSE(agent.exists());
}

TEST_CASE("the withdrawal of several deferred stops names the newest that was reported",
          "[tree][stop][later][X39]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  std::vector<std::string> told;
  const auto watch = t.tree->on<StopPending>([&](const StopPending& event) {
    told.push_back(std::string(event.withdrawn ? "withdrawn " : "pending ") +
                   std::string(event.origin.reason()) + " " + std::string(to_string(event.when)));
  });
  CHECK(agent.stop({.reason = "first", .when = after_turn}).took_effect());
  CHECK(agent.stop({.reason = "second", .when = after_step}).took_effect());
  CHECK(agent.stop({.reason = "third", .when = after_turn}).reason == Errc::stop_pending);
  t.settle();
  CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(told.size() == 3);
  CHECK(told.back() == "withdrawn second after_step");
}

// The walks of stops follow one another as their gates were closed. One that hardens while a stop that came
// before is still queued would come first.
TEST_CASE("a stop that takes effect later does not overtake a stop that was called before",
          "[tree][stop][delete][later][G3]") {
  TreeFixture t;
  const bool deletes = GENERATE(false, true);
  const Agent pauses = t.root("pauses"), top = t.root("top"), middle = t.child(top, "middle");
  for (int i = 0; i < 8; ++i) {
    const Agent child = t.child(middle, "child-" + std::to_string(i));
    if (i == 4) t.child(child, "grandchild");
  }
  t.settle();
  CHECK(middle.stop({.scope = Scope::agent}).took_effect());
  // Called in the poll in which both stops are read, right before the stop of `top` takes effect.
  VerbResult widened = VerbResult::no_effect(Errc::none);
  const auto widen = [&] { widened = middle.stop(); };
  CHECK(pauses.pause({.on_rest = widen}).took_effect());
  if (deletes)
    CHECK(top.terminate({.when = after_turn}).took_effect());
  else
    CHECK(top.stop({.when = after_turn}).took_effect());
  t.settle();
  CHECK(widened.took_effect());
  CHECK_FALSE(t.tree->busy());
  if (deletes) {
    CHECK(t.tree->size() == 1);
    return;
  }
  t.tree->walk([&](const Agent& agent) {
    CAPTURE(agent.id());
    const bool is_stopped = agent.state().value() == AgentState::stopped;
    CHECK(is_stopped == (agent.id() != "pauses"));
  });
}
