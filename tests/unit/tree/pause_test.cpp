// pause and unpause: nothing begins, what runs goes on.
#include "support/drive/tool_turn.hpp"

#include <agentcore/testing/references.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

bool is_paused(const Agent& agent) {
  return agent.status().value().paused;
}

}  // namespace

TEST_CASE("a paused agent begins no turn and keeps its messages", "[tree][pause][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  CHECK_FALSE(is_paused(agent));
  CHECK(agent.pause({.reason = "lunch"}).took_effect());
  CHECK(is_paused(agent));
  CHECK(agent.pause().reason == Errc::paused);
  CHECK(agent.send("one"));
  CHECK(agent.send("two"));
  t.settle();
  CHECK(t.seen.count("started a") == 0);
  CHECK(agent.queue_length().value() == 2);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(t.seen.index("paused a") < t.seen.index("at-rest a"));

  const UnpauseResult unpaused = agent.unpause();
  CHECK(unpaused.took_effect());
  CHECK_FALSE(unpaused.still_paused);
  CHECK(agent.unpause().reason == Errc::not_paused);
  t.settle();
  CHECK(t.seen.count("started a 1") == 1);
  t.answer("done");
  t.settle();
  t.answer("done");
  CHECK(t.seen.count("ended a 2 completed") == 1);
  CHECK(t.seen.count("at-rest a") == 1);
}

TEST_CASE("a handler does not run while its agent is paused", "[tree][pause][G1]") {
  ToolTurn t;
  int handled = 0;
  const Agent agent =
      t.tree->create({.id = "h", .handler = [&](const Agent&, const Message&) { ++handled; }}).value();
  CHECK(agent.pause().took_effect());
  CHECK(agent.send("one"));
  CHECK(agent.simulate("two"));
  t.settle();
  CHECK(handled == 0);
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(handled == 1);
}

TEST_CASE("what runs goes on in a pause and its result is kept", "[tree][pause][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  SECTION("a model call, and its answer ends the turn") {
    CHECK(agent.pause().took_effect());
    t.settle();
    CHECK(t.seen.count("at-rest a") == 0);
    t.llm->delta("a", "wor");
    t.answer("ds");
    CHECK(t.seen.count("ended a 1 completed") == 1);
    CHECK(t.result->text == "words");
    t.settle();
    CHECK(t.seen.index("ended a 1 completed") < t.seen.index("at-rest a"));
  }
  SECTION("a model call, and the tools of its answer do not begin") {
    CHECK(agent.pause().took_effect());
    t.call({{.name = "held"}});
    t.settle();
    CHECK(t.held.calls.empty());
    CHECK(t.seen.count("tool ") == 0);
    CHECK(agent.state().value() == AgentState::processing);
    CHECK(t.seen.count("at-rest a") == 1);
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.held.calls.size() == 1);
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
    t.answer("words");
    CHECK(t.result->text == "words");
  }
  SECTION("a tool, and the model is not asked again") {
    t.call({{.name = "held"}});
    CHECK(agent.pause().took_effect());
    t.settle();
    CHECK(t.seen.count("at-rest a") == 0);
    t.held.calls[0].context.progress("half");
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
    CHECK(t.seen.count("progress") == 1);
    CHECK(t.llm->calls() == 1);
    CHECK(t.seen.count("at-rest a") == 1);
    CHECK(agent.conversation().value().back().content() == "x");
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.llm->calls() == 2);
    t.answer("words");
    CHECK(t.result->text == "words");
  }
}

TEST_CASE("the calls of one answer begin one after the other although a pause comes between them",
          "[tree][pause][G1]") {
  ToolTurn t;
  const auto at_once = GENERATE(as<std::uint16_t>(), 1, 2);
  const Agent agent = t.agent({.limits = {.parallel_tools = at_once}});
  t.ask(agent);
  t.call({{.id = "x", .name = "held"}, {.id = "y", .name = "held"}, {.id = "z", .name = "held"}});
  CHECK(t.held.calls.size() == at_once);
  CHECK(agent.pause().took_effect());
  t.held.calls[0].done(ToolResult::done("1"));
  t.settle();
  CHECK(t.held.calls.size() == at_once);
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.held.calls.size() == at_once + 1U);
  for (std::size_t i = 1; i < 3; ++i) {
    t.held.calls.at(i).done(ToolResult::done("more"));
    t.settle();
  }
  t.answer("words");
  CHECK(t.result->text == "words");
  CHECK(t.result->calls.size() == 3);
  for (const ToolCallRecord& call : t.result->calls) CHECK(call.outcome == ToolOutcome::completed);
}

TEST_CASE("a pause by an observer withholds the step that would follow", "[tree][pause][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const auto states = t.tree->on<StateChanged>([&](const StateChanged& change) {
    if (change.to == AgentState::waiting_llm) CHECK(agent.pause().accepted());
  });
  CHECK(agent.send("question"));
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(agent.state().value() == AgentState::waiting_llm);
  CHECK(t.seen.count("at-rest a") == 1);
  SECTION("and the end of the pause lets it begin") {
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.llm->calls() == 1);
    t.answer("words");
    CHECK(t.result->text == "words");
  }
  SECTION("and an abort ends the turn") {
    CHECK(agent.abort().took_effect());
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::aborted);
  }
  SECTION("and a steer that cuts is delivered by the first call") {
    CHECK(agent.steer("more", {.when = SteerWhen::now}));
    t.settle();
    CHECK(t.llm->calls() == 0);
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(t.seen.count("steered a delivered 1") == 1);
  }
}

TEST_CASE("the verbs that end something go through a pause at once", "[tree][pause][G1][X34]") {
  ToolTurn t;
  const Agent agent = t.agent();
  const Agent child = t.tree->find("a").value().create_child({.id = "b"}).value();
  const bool parked = GENERATE(true, false);
  t.ask(agent);
  CHECK(agent.pause().took_effect());
  if (parked) t.call({{.name = "held"}});
  t.settle();
  CHECK(is_paused(child));
  SECTION("interrupt") {
    CHECK(agent.interrupt().took_effect());
    CHECK(agent.state().value() == AgentState::idle);
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::interrupted);
  }
  SECTION("interrupt of a subtree") {
    CHECK(agent.interrupt({.scope = Scope::subtree}).took_effect());
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::interrupted);
    CHECK(agent.state().value() == AgentState::idle);
  }
  SECTION("stop, and a resume does not end the pause") {
    CHECK(agent.stop().took_effect());
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::stopped);
    CHECK(agent.state().value() == AgentState::stopped);
    CHECK(is_paused(agent));
    CHECK(agent.resume().took_effect());
    t.settle();
    CHECK(agent.send("again"));
    t.settle();
    CHECK(t.llm->calls() == 1);
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.llm->calls() == 2);
  }
  SECTION("stop of the parent of the paused turn") {
    CHECK(t.tree->stop_all().took_effect());
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::stopped);
  }
  SECTION("delete of an agent that a watch still waits for") {
    const bool waits = !parked;
    CHECK(t.tree->find("b").value().terminate().took_effect());
    t.llm->on_stop = OnStop::deaf;
    CHECK(agent.terminate().took_effect());
    t.advance(6s);
    t.settle();
    CHECK(t.seen.count("at-rest a") == (waits ? 0 : 1));
    CHECK(testing::count_references(*t.tree, "a") == 0);
  }
  SECTION("delete") {
    CHECK(agent.terminate().took_effect());
    t.settle();
    CHECK(t.result->outcome == TurnOutcome::stopped);
    CHECK_FALSE(agent.exists());
    CHECK(testing::count_references(*t.tree, "a") == 0);
  }
}

TEST_CASE("a stop of many agents ends the parked turns among them", "[tree][pause][G4]") {
  ToolTurn t;
  const Agent root = t.tree->create({.id = "root"}).value();
  std::vector<Agent> agents;
  for (int i = 0; i < 100; ++i)
    agents.push_back(root.create_child({.id = "c" + std::to_string(i), .tools = t.tools}).value());
  for (const Agent& agent : agents) CHECK(agent.send("question"));
  t.settle();
  CHECK(t.tree->pause_all().took_effect());
  for (int i = 0; i < 100; ++i) t.llm->call_tools("c" + std::to_string(i), {{.name = "missing"}});
  t.settle();
  CHECK(t.seen.count("ended c") == 0);
  const bool deletes = GENERATE(true, false);
  CHECK((deletes ? root.terminate() : root.stop()).took_effect());
  t.settle();
  CHECK(t.seen.count("ended c") == 100);
  CHECK(t.tree->unpause_all().took_effect());
  t.settle();
}

TEST_CASE("an unpause names the ancestor that still pauses", "[tree][pause]") {
  ToolTurn t;
  const Agent top = t.tree->create({.id = "top"}).value();
  const Agent middle = top.create_child({.id = "middle"}).value();
  const Agent leaf = middle.create_child({.id = "leaf"}).value();
  CHECK(top.pause().took_effect());
  CHECK(leaf.pause().took_effect());
  CHECK(is_paused(middle));
  const UnpauseResult first = leaf.unpause();
  CHECK(first.took_effect());
  CHECK(first.still_paused);
  CHECK(first.paused_by == "top");
  CHECK(leaf.send("question"));
  const Agent born = leaf.create_child({.id = "born"}).value();
  CHECK(is_paused(born));
  t.settle();
  CHECK(t.llm->calls() == 0);
  const UnpauseResult none = middle.unpause();
  CHECK(none.reason == Errc::not_paused);
  CHECK(none.paused_by == "top");
  CHECK(t.tree->pause_all().took_effect());
  const UnpauseResult last = top.unpause();
  CHECK(last.still_paused);
  CHECK(last.paused_by.empty());
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(t.tree->unpause_all().took_effect());
  CHECK(t.tree->unpause_all().reason == Errc::not_paused);
  t.settle();
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("questions stand still in a pause", "[tree][pause][questions]") {
  ToolTurn t;
  t.tools->add({{.name = "approved", .needs_approval = true}, t.held.start()});
  const Agent agent = t.agent();
  t.ask(agent);
  SECTION("the time-out of a question that is open") {
    t.call({{.name = "held"}});
    Answer answer;
    bool closed = false;
    t.held.calls[0].context.ask({.text = "Which?", .timeout = 10s}, [&](const Answer& given) {
      closed = true;
      answer = given;
    });
    t.advance(4s);
    CHECK(agent.pause().took_effect());
    t.settle();
    CHECK(t.seen.count("at-rest a") == 1);  // it waits for a person
    t.advance(100s);
    CHECK_FALSE(closed);
    CHECK(agent.unpause().took_effect());
    t.settle();
    t.advance(5s);
    CHECK_FALSE(closed);
    t.advance(1s);
    CHECK(closed);
    CHECK(answer.outcome == QuestionOutcome::timed_out);
    t.held.calls[0].done(ToolResult::done("x"));
  }
  SECTION("the time-out of a question that is asked meanwhile") {
    t.call({{.name = "held"}});
    CHECK(agent.pause().took_effect());
    t.settle();
    bool closed = false;
    t.held.calls[0].context.ask({.text = "Which?", .timeout = 10s}, [&](const Answer&) { closed = true; });
    t.settle();
    CHECK(t.seen.count("at-rest a") == 1);
    t.advance(100s);
    CHECK_FALSE(closed);
    CHECK(agent.unpause().took_effect());
    t.settle();
    t.advance(9s);
    CHECK_FALSE(closed);
    t.advance(1s);
    CHECK(closed);
    t.held.calls[0].done(ToolResult::done("x"));
  }
  SECTION("an approval that is given begins no tool") {
    t.call({{.name = "approved"}});
    CHECK(agent.pause().took_effect());
    t.settle();
    CHECK(t.seen.count("at-rest a") == 1);
    CHECK(t.tree->approve("q_1"));
    t.settle();
    CHECK(t.held.calls.empty());
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.held.calls.size() == 1);
    t.held.calls[0].done(ToolResult::done("x"));
  }
  SECTION("an approval is not asked for") {
    CHECK(agent.pause().took_effect());
    t.call({{.name = "approved"}});
    t.settle();
    CHECK(t.tree->questions().empty());
    CHECK(agent.unpause().took_effect());
    t.settle();
    CHECK(t.tree->questions().size() == 1);
    CHECK(t.tree->approve("q_1"));
    t.settle();
    t.held.calls[0].done(ToolResult::done("x"));
  }
  t.settle();
  t.answer("words");
  CHECK(t.result->text == "words");
}

TEST_CASE("a budget of time stands still in a pause", "[tree][pause][budget]") {
  ToolTurn t;
  const bool subtree = GENERATE(true, false);
  const Agent agent = t.agent();
  const bool granted_before = GENERATE(true, false);
  const auto grant = [&] {
    const Budget budget{.wall_clock = 10s};
    CHECK((subtree ? agent.grant(budget, Scope::subtree) : agent.grant(budget)));
  };
  if (granted_before) {
    grant();
    t.advance(4s);
  }
  CHECK(agent.pause().took_effect());
  t.settle();
  if (!granted_before) grant();
  t.advance(100s);
  CHECK(agent.state().value() == AgentState::idle);
  CHECK(agent.unpause().took_effect());
  t.settle();
  t.advance(granted_before ? 5s : 9s);
  CHECK(agent.state().value() == AgentState::idle);
  t.advance(1s);
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("the deadline of a turn does not stand still in a pause", "[tree][pause][deadline]") {
  ToolTurn t;
  const Agent agent = t.agent({.limits = {.turn_timeout = 10s}});
  t.ask(agent);
  CHECK(agent.pause().took_effect());
  t.call({{.name = "held"}});
  t.settle();
  t.advance(10s);
  CHECK(t.result->outcome == TurnOutcome::failed);
  CHECK(t.result->error.code == Errc::deadline_exceeded);
  CHECK(t.held.calls.empty());
}

TEST_CASE("a pause that settles calls its callback once", "[tree][pause]") {
  ToolTurn t;
  int rests = 0;
  const Agent agent = t.agent();
  t.ask(agent);
  const bool all = GENERATE(true, false);
  const auto pause = [&] {
    const PauseOptions options{.reason = "lunch", .on_rest = [&] { ++rests; }};
    return all ? t.tree->pause_all(options) : agent.pause(options);
  };
  const auto unpause = [&] {
    return all ? t.tree->unpause_all().took_effect() : agent.unpause().took_effect();
  };
  CHECK(pause().took_effect());
  t.settle();
  CHECK(rests == 0);
  CHECK(unpause());
  t.answer("words");
  t.settle();
  CHECK(rests == 0);  // it was unpaused before
  CHECK(pause().took_effect());
  CHECK(pause().status == VerbStatus::no_effect);
  t.settle();
  CHECK(rests == 1);
  CHECK(unpause());
  t.settle();
  CHECK(rests == 1);
  CHECK(t.logged(all ? "all agents are paused" : "an agent is paused"));
  CHECK(t.logged(all ? "all agents are unpaused" : "an agent is unpaused"));
}

TEST_CASE("a pause of all agents has events of no agent", "[tree][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  std::vector<std::string> lines;
  const auto note = [&](const char* what, const Agent& of) {
    lines.push_back(what + std::string(of == Agent() ? " all" : " " + of.id()));
  };
  const Subscription changes = t.tree->on<PauseChanged>([&](const PauseChanged& event) {
    note(event.paused ? "paused" : "unpaused", event.agent);
    CHECK(event.origin.reason() == (event.paused ? "lunch" : ""));
  });
  const Subscription rests =
      t.tree->on<PauseSettled>([&](const PauseSettled& event) { note("at rest", event.agent); });
  const Subscription of_agent =
      agent.on<PauseChanged>([&](const PauseChanged&) { FAIL("it is not about it"); });
  CHECK(t.tree->pause_all({.reason = "lunch"}).took_effect());
  CHECK(t.tree->pause_all({.reason = "again"}).status == VerbStatus::no_effect);
  t.settle();
  CHECK(lines == std::vector<std::string>{"paused all"});
  t.answer("words");
  t.settle();
  CHECK(lines == std::vector<std::string>{"paused all", "at rest all"});
  CHECK(t.tree->unpause_all().took_effect());
  t.settle();
  CHECK(lines.back() == "unpaused all");
  CHECK(lines.size() == 3);
}

TEST_CASE("a pause calls its own callback, and never that of an earlier pause", "[tree][pause]") {
  ToolTurn t;
  std::vector<std::string> rests;
  const Agent agent = t.agent();
  t.ask(agent);
  const bool all = GENERATE(true, false);
  const bool polls = GENERATE(true, false);  // between the verbs
  const auto pause = [&](const std::string& name) {
    PauseOptions options;
    if (!name.empty()) options.on_rest = [&rests, name] { rests.push_back(name); };
    CHECK((all ? t.tree->pause_all(options) : agent.pause(options)).took_effect());
    if (polls) t.settle();
  };
  const auto unpause = [&] {
    CHECK((all ? t.tree->unpause_all() : agent.unpause()).took_effect());
    if (polls) t.settle();
  };
  pause("first");
  unpause();
  SECTION("the next one has a callback") {
    pause("second");
    t.answer("words");
    t.settle();
    CHECK(rests == std::vector<std::string>{"second"});
  }
  SECTION("the next one has none") {
    pause("");
    t.answer("words");
    t.settle();
    CHECK(rests.empty());
  }
}

TEST_CASE("a background task runs on in a pause and no new one begins", "[tree][pause][background]") {
  ToolTurn t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 2}});
  t.ask(agent);
  t.call({{.name = "later"}});
  CHECK(t.held.calls.size() == 1);
  CHECK(agent.pause().took_effect());
  t.call({{.name = "later"}});
  t.settle();
  CHECK(t.held.calls.size() == 1);
  CHECK(t.seen.count("at-rest a") == 0);
  t.held.calls[0].done(ToolResult::done("x"));
  t.settle();
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(agent.unpause().took_effect());
  t.settle();
  CHECK(t.held.calls.size() == 2);
  t.held.calls[1].done(ToolResult::done("y"));
  t.answer("words");
  CHECK(t.result->text == "words");
}

TEST_CASE("a pause of a tree that is gone is refused", "[tree][pause]") {
  ToolTurn t;
  const Agent agent = t.agent();
  CHECK(Agent().pause().reason == Errc::agent_not_found);
  CHECK(Agent().unpause().reason == Errc::agent_not_found);
  CHECK(agent.pause().took_effect());
  t.check_at_end = false;
  t.tree.reset();
  CHECK(agent.pause().reason == Errc::agent_not_found);
  CHECK(agent.unpause().reason == Errc::agent_not_found);
  t.runtime.reset();
  CHECK(agent.unpause().reason == Errc::runtime_gone);
}

TEST_CASE("a pause says whether the loop was inside an action of what it pauses", "[tree][pause][G1]") {
  TreeFixture t;
  bool same = true, parent_quiet = true, other_quiet = false;
  const auto elsewhere = [](const Agent& agent) {
    bool quiet = false;
    std::thread([&] { quiet = agent.pause().quiet; }).join();
    return quiet;
  };
  const Agent other = t.root("other"), parent = t.root("parent");
  const Agent agent = t.child(parent, "a", {.handler = [&](const Agent& self, const Message&) {
                                same = elsewhere(self);
                                parent_quiet = elsewhere(parent);
                                other_quiet = elsewhere(other);
                              }});
  CHECK(agent.send("x"));
  t.settle();
  CHECK_FALSE(same);
  CHECK_FALSE(parent_quiet);
  CHECK(other_quiet);
}

TEST_CASE("on_rest is called just after PauseSettled", "[tree][pause]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  std::size_t settled = 0;
  CHECK(agent.pause({.on_rest = [&] { settled = t.seen.count("at-rest a"); }}).took_effect());
  t.settle();
  CHECK(settled == 1);
}

TEST_CASE("the function of a pause goes with its agent", "[tree][pause][G13]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  const auto held = std::make_shared<int>();
  CHECK(agent.pause({.on_rest = [held] { static_cast<void>(held); }}).took_effect());
  t.settle();
  REQUIRE(held.use_count() == 2);
  CHECK(agent.terminate().took_effect());
  t.settle();
  CHECK_FALSE(agent.exists());
  CHECK(held.use_count() == 1);
}

TEST_CASE("a tool whose beginning an observer answers with a pause begins after the unpause",
          "[tree][pause][G1]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  const Subscription pauses = t.tree->on<ToolStarted>(
      [&](const ToolStarted& started) { CHECK(started.agent.pause().took_effect()); });
  t.call({{.name = "held"}});
  CHECK(t.held.calls.empty());
  CHECK(t.seen.count("at-rest a") == 1);
  CHECK(agent.unpause().took_effect());
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  t.held.calls[0].done(ToolResult::done("result"));
  t.settle();
  t.answer("done");
  CHECK(t.seen.with("tool a").size() == 1);
  CHECK(t.seen.with("tool-end").size() == 1);
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("a tool whose beginning was followed by a pause and a stop is not started", "[tree][pause][G9]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  const Subscription pauses = t.tree->on<ToolStarted>(
      [&](const ToolStarted& started) { CHECK(started.agent.pause().took_effect()); });
  t.call({{.name = "held"}});
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.held.calls.empty());
  CHECK(t.seen.with("tool-end").size() == 1);
  CHECK(t.result->calls.at(0).outcome == ToolOutcome::not_started);
  CHECK(t.state("a") == AgentState::stopped);
}

TEST_CASE("a stop that finds a paused agent stopped is reported at once", "[tree][pause][stop]") {
  ToolTurn t;
  const Agent agent = t.agent();
  CHECK(agent.stop().took_effect());
  t.settle();
  int reports = 0;
  CHECK(agent.pause().took_effect());  // is read just before the stop, and has not settled then
  CHECK(agent.stop({.on_settled = [&](const StopReport&) { ++reports; }}).reason == Errc::agent_stopped);
  t.settle();
  CHECK(reports == 1);
}
