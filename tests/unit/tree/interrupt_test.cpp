// Interrupt: the current turn ends in whatever phase it is, and the agent goes on.
#include "support/drive/tool_turn.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <thread>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr QueueAction hold = QueueAction::hold, drop = QueueAction::drop;

std::vector<std::string> texts(const Agent& agent) {
  std::vector<std::string> all;
  for (const QueuedMessage& queued : agent.queued().value()) all.push_back(queued.message.text);
  return all;
}

}  // namespace

TEST_CASE("an interrupt ends a model call and leaves the agent idle", "[tree][interrupt][X34]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf}) {
    TreeFixture t;
    t.llm->on_stop = how;
    const Agent agent = t.root("a");
    t.ask(agent, "one");
    t.llm->delta("a", "par");
    const VerbResult result = agent.interrupt({.reason = "enough"});
    CHECK((result.took_effect() && result.reason == Errc::none && result.calls_cut == 1 && result.quiet));
    CHECK(t.state("a") == AgentState::idle);
    CHECK(t.llm->call(0).stop.stop_requested());
    CHECK(agent.send("two"));
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    if (how == OnStop::deaf) t.llm->complete(t.llm->call(0));
    t.llm->complete(t.llm->call(1));
    t.settle();
    CHECK(written(agent.conversation().value()) == "user:one!interrupted, user:two, assistant:");
    CHECK(t.seen.index("ended a 1 interrupted") < t.seen.index("started a 2"));
    CHECK(t.seen.count("a waiting_llm>idle") == 1);
    CHECK(std::count(t.log.begin(), t.log.end(), "info a turn was interrupted agent=a reason=enough") == 1);
    CHECK_FALSE(t.logged("Agent execution was cancelled"));  // I10's record is one of stops
  }
}

TEST_CASE("the result of an interrupted or aborted turn says why, if the verb does",
          "[tree][interrupt][abort][I5]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  const std::string how = GENERATE("interrupt", "subtree", "abort");
  const bool has_reason = GENERATE(true, false);
  const std::string reason = has_reason ? "Esc" : "";
  if (how == "interrupt") CHECK(agent.interrupt({.reason = reason}).took_effect());
  if (how == "subtree") CHECK(agent.interrupt({.scope = Scope::subtree, .reason = reason}).took_effect());
  if (how == "abort") CHECK(agent.abort({.reason = reason}).took_effect());
  t.settle();
  REQUIRE(t.result);
  const char* const otherwise = how == "abort" ? "the call was aborted" : "Task terminated by user";
  CHECK(t.error.message == (has_reason ? "Esc" : otherwise));
  CHECK(t.error.code == Errc::none);
  CHECK_FALSE(t.logged("Agent execution was cancelled"));
  CHECK(t.history().find("Esc") == std::string::npos);  // the model is not told (G11)
}

TEST_CASE("the result of an interrupted handler says why", "[tree][interrupt][I5]") {
  TreeFixture t;
  std::shared_ptr<const TurnResult> result;
  const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded& ended) { result = ended.result; });
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message&) {
                               CHECK(self.interrupt({.reason = "Esc"}).took_effect());
                             }});
  CHECK(agent.send("go"));
  t.settle();
  REQUIRE(result);
  CHECK(result->error.message == "Esc");
}

TEST_CASE("foreign bytes in the error of a turn are shown as escapes", "[tree][interrupt][abort]") {
  ToolTurn t;
  const std::string foreign = "a\x1b]0;title\x07\xff";
  const std::string how = GENERATE("interrupt", "abort", "error of the client", "exception");
  CAPTURE(how);
  if (how == "exception") {
    const Agent agent =
        t.root("a", {.handler = [&](const Agent&, const Message&) { throw std::runtime_error(foreign); }});
    CHECK(agent.send("go"));
  } else {
    const Agent agent = t.agent();
    t.ask(agent);
    if (how == "interrupt") CHECK(agent.interrupt({.reason = foreign}).took_effect());
    if (how == "abort") CHECK(agent.abort({.reason = foreign}).took_effect());
    if (how == "error of the client")
      t.llm->finish(t.llm->call(0), ChatOutcome::failed({Errc::network_error, foreign}));
  }
  t.settle();
  REQUIRE(t.result);
  CAPTURE(t.error.message);
  CHECK(t.error.message.ends_with("a\\u001b]0;title\\u0007\xef\xbf\xbd"));
}

TEST_CASE("no log record names its agent twice", "[tree][interrupt][abort][A15]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.abort().took_effect());
  t.settle();
  t.ask(agent);
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(t.logged("info a turn was interrupted agent=a"));
  for (const std::string& line : t.log)
    CHECK((line.find("agent=") == std::string::npos || line.find("agentId=") == std::string::npos));
}

TEST_CASE("an interrupt ends tool calls and the model reads what became of them",
          "[tree][interrupt][X34][G8]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({add_call("", 1, 2), {.name = "held"}, {.name = "held"}});
  REQUIRE(t.state("a") == AgentState::processing);
  REQUIRE(t.held.calls.size() == 1);
  CHECK_FALSE(t.held.calls[0].context.stop().stop_requested());
  const VerbResult result = agent.interrupt();
  CHECK((result.took_effect() && result.calls_cut == 1));
  CHECK(t.held.calls[0].context.stop().stop_requested());  // before the loop has done anything
  CHECK(t.state("a") == AgentState::idle);
  t.settle();
  REQUIRE(t.result);
  CHECK(t.result->outcome == TurnOutcome::interrupted);
  CHECK(t.result->error.message == "Task terminated by user");
  REQUIRE(t.result->calls.size() == 3);
  CHECK(t.result->calls[0].outcome == ToolOutcome::completed);
  CHECK(t.result->calls[1].outcome == ToolOutcome::interrupted);
  CHECK(t.result->calls[2].outcome == ToolOutcome::not_started);
  CHECK(t.seen.count("tool-end a call_1_2 interrupted failed") == 1);
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(t.history().starts_with("user:question!interrupted, assistant:"));

  // The agent works on while the call goes on; its late result is dropped.
  t.ask(agent, "next");
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.with("discarded").size() == 1);
  t.answer("fine");
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("an interrupt ends a question to a person", "[tree][interrupt][X34]") {
  ToolTurn t;
  t.tools->add(make_ask_human_tool());
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "ask_human", .arguments = R"({"question":"Which?"})"}});
  REQUIRE(t.tree->questions().size() == 1);
  const std::string id = t.tree->questions()[0].id;
  CHECK(agent.interrupt().took_effect());
  CHECK(t.tree->answer(id, "this").code() == Errc::question_closed);  // the loop has closed nothing yet
  t.settle();
  CHECK(t.tree->questions().empty());
  CHECK(t.seen.count("closed a " + id + " cancelled") == 1);
  CHECK(t.result->outcome == TurnOutcome::interrupted);
}

TEST_CASE("an interrupt leaves children and background tasks alone", "[tree][interrupt][X34]") {
  ToolTurn t;
  t.tools->add({{.name = "later", .mode = ToolMode::async}, t.held.start()});
  const Agent agent = t.agent({.limits = {.background_tasks = 1}});
  const Agent child = t.child(agent, "child");
  t.ask(child);
  t.ask(agent);
  t.call({{.name = "later"}, {.name = "held"}});
  REQUIRE(t.held.calls.size() == 2);
  CHECK(agent.interrupt().calls_cut == 1);
  t.settle();
  CHECK_FALSE(t.held.calls[0].context.stop().stop_requested());
  CHECK(t.held.calls[1].context.stop().stop_requested());
  CHECK(t.state("child") == AgentState::waiting_llm);
  CHECK(t.state("a") == AgentState::idle);
  t.held.calls[0].done(ToolResult::done("ready"));
  t.settle();
  CHECK(t.seen.count("task a later completed") == 1);
}

TEST_CASE("an interrupt of a handler ends its turn when the handler returns", "[tree][interrupt][X34]") {
  TreeFixture t;
  VerbResult inside;
  AgentState during = AgentState::stopped;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message& message) {
                               if (message.text != "one") return;
                               inside = self.interrupt();
                               during = self.state().value();
                             }});
  CHECK(agent.send("one"));
  CHECK(agent.send("two"));
  t.settle();
  CHECK(inside.took_effect());
  CHECK(during == AgentState::idle);
  CHECK(joined(t.seen.with("ended")) == "ended a 1 interrupted ended a 2 completed");
}

TEST_CASE("an interrupt of the subtree at the end of a turn leaves the agent idle, and says so",
          "[tree][interrupt]") {
  for (const std::string of : {"a model", "a model that fails", "a handler"}) {
    CAPTURE(of);
    TreeFixture t;
    AgentSpec spec;
    if (of == "a handler") spec.handler = [](const Agent&, const Message&) {};
    const Agent agent = t.root("a", std::move(spec));
    AgentState last = AgentState::idle;
    const auto changes = t.tree->on<StateChanged>([&](const StateChanged& change) { last = change.to; });
    const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded& ended) {
      CHECK(ended.agent.interrupt({.scope = Scope::subtree}).took_effect());
    });
    CHECK(agent.send("one"));
    t.settle();
    if (of == "a model") t.llm->answer("a", "an answer");
    if (of == "a model that fails") t.llm->fail("a");
    t.settle();
    CHECK(agent.state().value() == AgentState::idle);
    CHECK(last == AgentState::idle);
  }
}

TEST_CASE("an interrupt of an agent without a turn has no effect", "[tree][interrupt]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.root("a");
  CHECK(agent.interrupt().reason == Errc::turn_over);
  CHECK(agent.interrupt().status == VerbStatus::no_effect);
  t.ask(agent);
  CHECK(agent.interrupt().took_effect());
  CHECK(agent.interrupt().reason == Errc::turn_over);
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  CHECK(agent.interrupt().reason == Errc::agent_stopping);
  t.llm->answer_all();
  t.settle();
  CHECK(agent.interrupt().reason == Errc::agent_stopped);
  CHECK(agent.terminate().took_effect());
  CHECK(agent.interrupt().reason == Errc::agent_terminating);
  t.settle();
  CHECK(agent.interrupt().reason == Errc::agent_not_found);
  CHECK(agent.interrupt().status == VerbStatus::refused);
  CHECK(Agent{}.interrupt().reason == Errc::agent_not_found);
}

TEST_CASE("what an interrupt does with the mailbox", "[tree][interrupt][X3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  CHECK(agent.send("two"));
  CHECK(agent.send("three"));
  SECTION("deliver") {
    CHECK(agent.interrupt().accepted());
    t.settle();
    CHECK(t.llm->find("a")->request.messages.back().content() == "two");
    CHECK(texts(agent) == std::vector<std::string>{"three"});
  }
  SECTION("drop") {
    CHECK(agent.interrupt({.queue = drop}).accepted());
    CHECK(agent.send("four"));
    t.settle();
    CHECK(t.seen.with("dropped") ==
          std::vector<std::string>{"dropped a two interrupted", "dropped a three interrupted"});
    CHECK(t.llm->find("a")->request.messages.back().content() == "four");
  }
  SECTION("hold") {
    CHECK(agent.interrupt({.queue = hold}).accepted());
    CHECK(agent.status().value().queue_held);
    CHECK(agent.send("four"));
    t.settle();
    CHECK(t.state("a") == AgentState::idle);
    CHECK(t.seen.count("held a") == 1);
    CHECK(texts(agent) == std::vector<std::string>{"two", "three", "four"});
    CHECK(agent.interrupt({.queue = hold}).reason == Errc::turn_over);
    t.settle();
    CHECK(t.seen.count("held a") == 1);
    CHECK(agent.release_queue().took_effect());
    CHECK_FALSE(agent.status().value().queue_held);
    CHECK(agent.release_queue().reason == Errc::not_held);
    t.settle();
    CHECK(t.seen.count("released a") == 1);
    CHECK(t.llm->find("a")->request.messages.back().content() == "two");
    t.llm->answer("a", "2");
    t.settle();
    t.llm->answer("a", "3");
    t.settle();
    CHECK(t.llm->find("a")->request.messages.back().content() == "four");
  }
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("a hold is applied to an agent without a turn, too", "[tree][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.interrupt({.queue = hold}).reason == Errc::turn_over);
  CHECK(agent.send("one"));
  t.settle();
  CHECK(t.seen.count("held a") == 1);
  CHECK(t.llm->calls() == 0);
  CHECK(agent.interrupt({.queue = drop}).reason == Errc::turn_over);
  t.settle();
  CHECK(texts(agent).empty());
  CHECK(agent.send("two"));
  CHECK(agent.release_queue().took_effect());
  t.settle();
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("a hold outlasts a stop and a resume", "[tree][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.interrupt({.queue = hold}).accepted());
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(agent.resume().took_effect());
  CHECK(agent.send("one"));
  t.settle();
  CHECK(agent.status().value().queue_held);
  CHECK(t.llm->calls() == 0);
  CHECK(agent.release_queue().took_effect());
  t.settle();
  CHECK(t.llm->calls() == 1);
  CHECK(agent.terminate().took_effect());
  t.settle();
  const Agent next = t.root("b");  // in the same slot
  CHECK_FALSE(next.status().value().queue_held);
}

TEST_CASE("an interrupt by the id of a message never ends another turn", "[tree][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a"), other = t.root("b");
  const MessageId one = agent.send("one").id, two = agent.send("two").id, three = agent.send("three").id;
  t.settle();
  SECTION("its turn is in progress") {
    CHECK(agent.interrupt({.message = one}).took_effect());
    CHECK(agent.interrupt({.message = one}).reason == Errc::turn_over);
    t.settle();
    CHECK(t.seen.count("ended a 1 interrupted") == 1);
    CHECK(agent.interrupt({.message = one}).reason == Errc::turn_over);
    CHECK(t.llm->find("a")->request.messages.back().content() == "two");
  }
  SECTION("its turn has ended") {
    t.llm->answer("a", "1");
    t.settle();
    CHECK(agent.interrupt({.message = one}).reason == Errc::turn_over);
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    CHECK(t.seen.with("ended") == std::vector<std::string>{"ended a 1 completed"});
  }
  SECTION("it waits") {
    CHECK(agent.interrupt({.message = two}).took_effect());
    CHECK(t.tree->message(two).stage == MessageInfo::Stage::unknown);
    CHECK(agent.interrupt({.message = two}).reason == Errc::turn_over);
    CHECK(agent.remove_queued(two).code() == Errc::message_not_found);
    t.settle();
    CHECK(t.seen.count("dropped a two interrupted") == 1);
    CHECK(texts(agent) == std::vector<std::string>{"three"});
    t.llm->answer("a", "1");
    t.settle();
    CHECK(t.llm->find("a")->request.messages.back().content() == "three");
  }
  SECTION("it is taken before the loop has read the verb") {
    // The observer runs when turn 1 ends, and turn 2 begins in the same poll.
    const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded& end) {
      if (end.turn == 1) CHECK(agent.interrupt({.message = two}).took_effect());
    });
    t.llm->answer("a", "1");
    t.settle();
    CHECK(t.seen.count("dropped a two interrupted") == 1);
    CHECK(t.llm->find("a")->request.messages.back().content() == "three");
  }
  SECTION("it was sent to another agent") {
    CHECK(other.interrupt({.message = one}).reason == Errc::message_not_found);
    CHECK(other.interrupt({.message = MessageId{1ULL << 60 | 77}}).reason == Errc::turn_over);
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
  }
  static_cast<void>(three);
}

TEST_CASE("an interrupt of a subtree ends the turns of that moment and no later ones",
          "[tree][interrupt][X34]") {
  ToolTurn t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "b", {.tools = t.tools});
  const Agent leaf = t.child(agent, "leaf");
  const Agent idle = t.child(parent, "idle");
  const Agent beside = t.root("beside");
  for (const Agent& each : {parent, agent, leaf, beside}) t.ask(each);
  t.llm->call_tools("b", {{.name = "held"}});
  t.settle();
  REQUIRE(t.held.calls.size() == 1);
  CHECK(leaf.send("next"));
  const VerbResult result = parent.interrupt({.scope = Scope::subtree});
  CHECK((result.took_effect() && result.calls_cut == 3));
  for (const Agent& each : {parent, agent, leaf}) CHECK(each.state().value() == AgentState::idle);
  CHECK(beside.state().value() == AgentState::waiting_llm);
  CHECK(leaf.abort().reason == Errc::not_waiting_llm);
  CHECK(t.held.calls[0].context.stop().stop_requested());
  CHECK(idle.send("later"));
  t.settle();
  for (const char* const ended :
       {"ended parent 1 interrupted", "ended b 1 interrupted", "ended leaf 1 interrupted"})
    CHECK(t.seen.count(ended) == 1);
  CHECK(t.seen.with("ended").size() == 3);
  CHECK(t.state("leaf") == AgentState::waiting_llm);  // its next message
  CHECK(t.state("idle") == AgentState::waiting_llm);
  CHECK(t.state("beside") == AgentState::waiting_llm);
  t.llm->answer_all();
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.count("ended leaf 2 completed") == 1);
  for (const Agent& each : {parent, agent, leaf}) CHECK(is_valid_history(each.conversation().value()));
}

TEST_CASE("a hold of a subtree holds every mailbox in it until its release", "[tree][interrupt]") {
  TreeFixture t;
  const Agent parent = t.root("parent"), child = t.child(parent, "child"), leaf = t.child(child, "leaf");
  t.ask(leaf);
  CHECK(parent.interrupt({.scope = Scope::subtree, .queue = hold}).accepted());
  for (const Agent& each : {parent, child, leaf}) {
    CHECK(each.send("x"));
    CHECK(each.status().value().queue_held);
  }
  t.settle();
  CHECK(t.llm->calls() == 1);
  CHECK(leaf.release_queue().reason == Errc::not_held);  // it is the parent's
  CHECK(parent.release_queue().took_effect());
  t.settle();
  CHECK(t.llm->calls() == 4);
}

TEST_CASE("a hold of one agent does not hold the mailboxes below it", "[tree][interrupt]") {
  TreeFixture t;
  const Agent parent = t.root("parent"), child = t.child(parent, "child");
  CHECK(parent.interrupt({.scope = Scope::subtree, .queue = hold}).accepted());
  SECTION("after the release of its subtree") {
    CHECK(parent.release_queue().took_effect());
    CHECK(parent.interrupt({.queue = hold}).accepted());
    CHECK(parent.status().value().queue_held);
    CHECK_FALSE(child.status().value().queue_held);
  }
  SECTION("and does not narrow a hold of its subtree") {
    CHECK(parent.interrupt({.queue = hold}).accepted());
    CHECK(child.status().value().queue_held);
  }
}

TEST_CASE("a call that does not end is given up while the agent works on", "[tree][interrupt][G15]") {
  ToolTurn t({.stop_grace = std::chrono::seconds(3)});
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(agent.interrupt().accepted());
  t.ask(agent, "next");
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.advance(std::chrono::milliseconds(2900));
  CHECK(t.seen.with("abandoned").empty());
  t.advance(std::chrono::milliseconds(200));
  CHECK(t.seen.with("abandoned") == std::vector<std::string>{"abandoned a tool call held"});
  CHECK(t.state("a") == AgentState::waiting_llm);
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(t.seen.with("discarded").size() == 1);
  t.answer("fine");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.seen.count("settled a stopped") == 1);  // without "abandoned": the stop gave nothing up
}

TEST_CASE("a stop waits for a call that outlives its turn", "[tree][interrupt][G4]") {
  ToolTurn t({.stop_grace = std::chrono::seconds(3)});
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}});
  CHECK(agent.interrupt().accepted());
  t.settle();
  t.advance(std::chrono::seconds(2));
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(t.state("a") == AgentState::stopping);
  t.advance(std::chrono::milliseconds(1100));  // its own grace period, which began first
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("settled a stopped abandoned") == 1);
}

TEST_CASE("the number of calls that outlive their turns is limited", "[tree][interrupt][G15]") {
  ToolTurn t({.max_lingering_calls = 2});
  const Agent agent = t.agent();
  for (int i = 0; i < 4; ++i) {
    t.ask(agent);
    t.call({{.name = "held"}});
    CHECK(agent.interrupt().accepted());
    t.settle();
    CHECK(t.seen.with("abandoned").size() == static_cast<std::size_t>(std::max(0, i - 1)));
  }
}

TEST_CASE("an interrupt from another thread", "[tree][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  std::thread([&] { CHECK(agent.interrupt().took_effect()); }).join();
  CHECK(t.state("a") == AgentState::idle);
  t.settle();
  CHECK(t.seen.count("ended a 1 interrupted") == 1);
}

TEST_CASE("the result of an interrupted turn as JSON says so", "[tree][interrupt][I5]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.interrupt().accepted());
  t.settle();
  const auto json = nlohmann::json::parse(to_json(*t.result));
  CHECK(json["success"] == false);
  CHECK(json["error"] == "Task terminated by user");
  REQUIRE(json["steps"].size() == 1);
  CHECK(json["steps"][0]["type"] == "terminated");
}

TEST_CASE("an interrupt of a subtree during the pass of another one ends all turns below",
          "[tree][interrupt][X34]") {
  const int polls = GENERATE(range(0, 24));
  ToolTurn t;
  const Agent early = t.root("early");
  const Agent late = t.root("late");
  std::vector<Agent> agents;
  for (int i = 0; i < 12; ++i) {
    const std::string id = "c" + std::to_string(i);
    agents.push_back(t.child(i < 6 ? early : late, id, {.tools = t.tools}));
    t.ask(agents.back());
    t.llm->call_tools(id, {{.name = "held"}});  // which runs on after its turn
    t.settle();
  }
  const InterruptOptions options{.scope = Scope::subtree};
  CHECK(late.interrupt(InterruptOptions(options)).took_effect());
  for (int i = 0; i < polls; ++i) t.runtime->poll(Duration(0));  // one step of each stage
  CHECK(early.interrupt(InterruptOptions(options)).took_effect());
  t.settle();
  CHECK(t.seen.count("ended") == 12);
}

TEST_CASE("an interrupt of a message that was not sent yet does not drop it later",
          "[tree][interrupt][G10]") {
  TreeFixture t;
  const Agent a = t.root("a"), b = t.root("b");
  REQUIRE(a.pause().took_effect());
  REQUIRE(b.pause().took_effect());
  std::set<std::uint64_t> next;  // the ids that the places of these messages have next
  for (int i = 0; i < 100; ++i) next.insert(a.send("one").id.value + (std::uint64_t{1} << 28));
  REQUIRE(a.drop_queue().value() == 100);
  for (const std::uint64_t id : next) CHECK(a.interrupt({.message = {id}}).reason == Errc::turn_over);
  std::size_t met = 0;
  for (int i = 0; i < 100; ++i) met += next.count(b.send("two").id.value);
  CHECK(met != 0);
  t.settle();
  CHECK(b.queue_length().value() == 100);
  CHECK(t.seen.count("dropped b") == 0);
}
