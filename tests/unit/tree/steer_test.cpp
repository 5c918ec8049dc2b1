// Steer: a message into the running turn, and what becomes of it.
#include "llm/history_problem.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/messages.hpp"

#include <agentcore/history.hpp>

#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

constexpr SteerOptions now{.when = SteerWhen::now};
constexpr SteerOptions give_back{.fallback = SteerFallback::give_back};

ToolCall held_call() {
  return {.name = "held"};
}

}  // namespace

TEST_CASE("a steered message follows the results of the step and precedes the next model call",
          "[tree][steer][G8]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({held_call()});
  const SendResult one = agent.steer("left"), two = agent.steer("and fast");
  CHECK((one.accepted() && one.id && !one.ended_call));
  CHECK(one.id != two.id);
  t.settle();
  CHECK(t.seen.with("steered").empty());  // the tool still runs
  t.held.calls[0].done(ToolResult::done("moved"));
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a delivered 2 steered a delivered 2");
  CHECK(written(t.llm->call(1).request.messages) ==
        "user:question, assistant:[held call_1_1], tool:call_1_1=moved, user+:left, user+:and fast");
  t.answer("done");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(t.history().ends_with("user+:left, user+:and fast, assistant:done"));
  CHECK(t.llm->histories_were_valid());
}

TEST_CASE("a steered message whose turn ends first begins the next turn, before all that wait",
          "[tree][steer]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  CHECK(agent.send("three"));
  CHECK(agent.send({.text = "urgent", .priority = MessagePriority::urgent}));
  const SendResult first = agent.steer("two"), second = agent.steer("two and a half");
  std::vector<MessageId> started;
  const auto starts =
      t.tree->on<TurnStarted>([&](const TurnStarted& turn) { started.push_back(turn.message); });
  t.settle();
  CHECK(agent.queued().value().size() == 2);
  for (int i = 0; i < 5; ++i) {
    t.llm->answer("a", "ok");
    t.settle();
  }
  CHECK(joined(t.seen.with("steered")) == "steered a queued steered a queued");
  REQUIRE(started.size() == 4);
  CHECK((started[0] == first.id && started[1] == second.id));
  CHECK(written(agent.conversation().value()) ==
        "user:one, assistant:ok, user:two, assistant:ok, user:two and a half, assistant:ok, user:urgent, "
        "assistant:ok, user:three, assistant:ok");
  CHECK(t.seen.index("ended a 1 completed") < t.seen.index("steered a queued"));
  CHECK(t.seen.index("steered a queued") < t.seen.index("started a 2"));
}

TEST_CASE("a steered message comes back if the host asks for that", "[tree][steer]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.steer("two", give_back));
  t.llm->answer("a", "ok");
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a returned turn_over two");
  CHECK(agent.queued().value().empty());
  CHECK(t.state("a") == AgentState::idle);
}

TEST_CASE("a steered message that a pending stop overtakes is delivered or comes back and is not dropped",
          "[tree][steer][later][G8]") {
  ToolTurn t;
  const StopWhen when = GENERATE(StopWhen::after_step, StopWhen::after_turn);
  const bool by_parent = GENERATE(true, false);
  const Agent top = t.root("top");
  const Agent agent = t.child(top, "a", {.tools = t.tools});
  t.ask(agent);
  CHECK(agent.steer("more"));
  CHECK((by_parent ? top : agent).stop({.when = when}).took_effect());
  CHECK(agent.steer("too late").reason == Errc::agent_stopping);
  CHECK(agent.steer("too late", now).reason == Errc::agent_stopping);
  const bool read = GENERATE(true, false);
  if (read) t.settle();
  SECTION("the turn ends first") {
    t.llm->answer("a", "words");
    t.settle();
    CHECK(joined(t.seen.with("steered")) == "steered a returned agent_stopping more");
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
  SECTION("there is one more step") {
    t.llm->call_tools("a", {add_call("x", 1, 2)});
    t.settle();
    const bool delivered = when == StopWhen::after_turn;
    CHECK(joined(t.seen.with("steered")) ==
          (delivered ? "steered a delivered 2" : "steered a returned agent_stopped more"));
    if (delivered) t.llm->answer("a", "words");
    t.settle();
  }
  CHECK(t.seen.with("dropped").empty());
  CHECK(agent.state().value() == AgentState::stopped);
}

TEST_CASE("a message that is steered after an abort has dropped others is not one of them",
          "[tree][steer][queue][G12]") {
  ToolTurn t;
  const Agent agent = t.child(t.root("p"), "a", {.tools = t.tools});
  t.ask(agent);
  REQUIRE(agent.send("before"));
  std::size_t waiting = 1;
  Subscription deltas = t.tree->on<DeltaReceived>([&](const DeltaReceived&) {
    REQUIRE(agent.abort({.queue = QueueAction::drop}).took_effect());
    REQUIRE(agent.steer("after"));  // the turn ends when this returns, and the loop reads the abort later
    waiting = agent.queue_length().value();
  });
  t.llm->delta("a", "words");
  deltas.reset();
  CHECK(waiting == 0);
  t.settle();
  CHECK(joined(t.seen.with("dropped")) == "dropped a before queue_dropped");
  CHECK(joined(t.seen.with("steered")) == "steered a queued");
  t.llm->answer("a", "ok");
  t.settle();
  CHECK(written(agent.conversation().value()) == "user:question!aborted, user:after, assistant:ok");
}

TEST_CASE("a steered message to an idle agent is a plain send", "[tree][steer]") {
  for (const SteerOptions& options : {SteerOptions{}, now}) {
    TreeFixture t;
    const Agent agent = t.root("a");
    const SendResult steered = agent.steer("question", options);
    CHECK((steered.accepted() && !steered.ended_call));
    CHECK(t.tree->message(steered.id).stage != MessageInfo::Stage::ended);
    t.settle();
    CHECK(joined(t.seen.with("steered")) == "steered a queued");
    t.llm->answer("a", "ok");
    t.settle();
    CHECK(written(agent.conversation().value()) == "user:question, assistant:ok");
    CHECK(t.tree->message(steered.id).stage == MessageInfo::Stage::ended);
  }
}

TEST_CASE("steer now ends the open model call, and the model is asked again", "[tree][steer][G1][G8][Y6]") {
  for (const OnStop how : {OnStop::post, OnStop::at_once, OnStop::deaf}) {
    ToolTurn t;
    t.llm->on_stop = how;
    const Agent agent = t.agent();
    t.ask(agent);
    t.llm->delta("a", "par");
    const SendResult steered = agent.steer("shorter", now);
    CHECK((steered.accepted() && steered.ended_call));
    CHECK(t.llm->call(0).stop.stop_requested());  // before the loop has done anything
    if (how == OnStop::deaf) t.llm->call(0).sink.delta("tial");
    CHECK(t.seen.count("delta a tial") == 0);
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
    CHECK(joined(t.seen.with("cut")) == "cut a 1");
    CHECK(joined(t.seen.with("steered")) == "steered a delivered 2");
    CHECK(t.seen.index("cut a 1") < t.seen.index("steered a delivered 2"));
    REQUIRE(t.llm->calls() == 2);
    CHECK(written(t.llm->call(1).request.messages) == "user:question, user+:shorter");
    t.answer("ok");
    CHECK(t.result->text == "ok");
    CHECK(t.result->outcome == TurnOutcome::completed);
    CHECK(written(agent.conversation().value()) == "user:question, user+:shorter, assistant:ok");
    CHECK(t.seen.with("started").size() == 1);
    const auto late = t.tree->on<Discarded>(
        [](const Discarded& discarded) { CHECK(discarded.reason == DiscardReason::steered); });
    if (how == OnStop::deaf) t.llm->complete(t.llm->call(0));
    t.settle();
    CHECK(t.seen.with("discarded").size() == (how == OnStop::deaf ? 1 : 0));
  }
}

// Else the loop thread would compete for a processor with whoever learns of the end.
TEST_CASE("a verb cuts the model call before it wakes the loop", "[tree][steer][G6]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  std::vector<bool> was_cut;
  const auto wake = t.runtime->on_wake([&] { was_cut.push_back(t.llm->call(0).stop.stop_requested()); });
  SECTION("steer") {
    CHECK(agent.steer("shorter", now).ended_call);
  }
  SECTION("interrupt") {
    CHECK(agent.interrupt().took_effect());
  }
  SECTION("stop") {
    CHECK(agent.stop().took_effect());
  }
  CHECK(was_cut == std::vector<bool>{true});
}

TEST_CASE("a model call that ignores steer now is given up while the turn goes on", "[tree][steer][G2]") {
  ToolTurn t;
  t.llm->on_stop = OnStop::deaf;
  const Agent agent = t.agent();
  t.ask(agent);
  CHECK(agent.steer("shorter", now).ended_call);
  t.settle();
  REQUIRE(t.llm->calls() == 2);
  t.advance(std::chrono::seconds(6));
  CHECK(joined(t.seen.with("abandoned")) == "abandoned a model call");
  t.answer("ok");
  CHECK(t.result->outcome == TurnOutcome::completed);
}

TEST_CASE("steer now waits for tools and questions", "[tree][steer]") {
  ToolTurn t;
  t.tools->add(make_ask_human_tool());
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({held_call(), {.name = "ask_human", .arguments = R"({"question":"Which?"})"}});
  CHECK_FALSE(agent.steer("faster", now).ended_call);
  t.settle();
  CHECK_FALSE(t.held.calls[0].context.stop().stop_requested());
  t.held.calls[0].done(ToolResult::done("ok"));
  t.settle();
  REQUIRE(t.tree->questions().size() == 1);
  CHECK_FALSE(agent.steer("even faster", now).ended_call);
  t.settle();
  CHECK(t.tree->questions().size() == 1);
  CHECK(t.tree->answer(t.tree->questions()[0].id, "this").has_value());
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a delivered 2 steered a delivered 2");
  CHECK(t.seen.with("cut").empty());
}

TEST_CASE("the number of times that a model is asked again is limited", "[tree][steer][G15]") {
  ToolTurn t({.max_reasks = 2});
  const Agent agent = t.agent();
  t.ask(agent);
  for (int i = 0; i < 2; ++i) {
    CHECK(agent.steer("now", now).ended_call);
    CHECK(agent.steer("and this", now).ended_call);  // for the same call
    t.settle();
  }
  REQUIRE(t.llm->calls() == 3);
  CHECK_FALSE(agent.steer("no more", now).ended_call);
  t.settle();
  CHECK(t.llm->calls() == 3);
  t.answer("ok");
  t.settle();
  CHECK(t.seen.count("steered a queued") == 1);
  // A turn of its own counts anew.
  CHECK(agent.steer("again", now).ended_call);
  t.settle();
  CHECK(t.llm->calls() == 5);
}

TEST_CASE("repairs and steers share one limit", "[tree][steer][X30][G15]") {
  ToolTurn t({.max_reasks = 1});
  const Agent agent = t.agent({.tool_protocol = ToolProtocol::text, .limits = {.repairs = 1}});
  t.ask(agent);
  CHECK(agent.steer("now", now).ended_call);
  t.settle();
  t.llm->answer("a", "<tool_call>{broken</tool_call>");
  t.settle();
  CHECK(t.llm->calls() == 2);  // no repair
  CHECK(t.seen.with("refused-answer").empty());

  ToolTurn other({.max_reasks = 1});
  const Agent second = other.agent({.tool_protocol = ToolProtocol::text, .limits = {.repairs = 1}});
  other.ask(second);
  other.llm->answer("a", "<tool_call>{broken</tool_call>");
  other.settle();
  REQUIRE(other.llm->calls() == 2);
  CHECK_FALSE(second.steer("now", now).ended_call);
}

TEST_CASE("a message steered during a repair follows the correction", "[tree][steer][X30]") {
  ToolTurn t;
  const Agent agent = t.agent({.tool_protocol = ToolProtocol::text});
  t.ask(agent);
  t.llm->answer("a", "<tool_call>{broken</tool_call>");
  t.settle();
  REQUIRE(t.llm->calls() == 2);
  CHECK(agent.steer("in short", now).ended_call);
  t.settle();
  REQUIRE(t.llm->calls() == 3);
  const std::vector<ChatMessage>& sent = t.llm->call(2).request.messages;
  REQUIRE(sent.size() >= 4);
  CHECK(sent[sent.size() - 4].content() == "question");
  CHECK(sent[sent.size() - 3].role == Role::assistant);
  CHECK(sent[sent.size() - 2].role == Role::user);
  CHECK(written({sent.back()}) == "user+:in short");
  t.answer("ok");
  CHECK(written(agent.conversation().value()) == "user:question, user+:in short, assistant:ok");
}

TEST_CASE("a stop and a delete give steered messages back", "[tree][steer][C9][G13]") {
  for (const bool deletes : {false, true}) {
    ToolTurn t;
    t.check_at_end = !deletes;
    const Agent agent = t.agent();
    t.ask(agent);
    t.call({held_call()});
    CHECK(agent.steer("left"));
    CHECK(agent.steer("right", now));
    if (deletes)
      CHECK(agent.terminate().took_effect());
    else
      CHECK(agent.stop().took_effect());
    CHECK(agent.steer("late").reason == (deletes ? Errc::agent_terminating : Errc::agent_stopping));
    t.held.calls[0].done(ToolResult::done("x"));
    t.settle();
    const std::vector<std::string> fates = t.seen.with("steered");
    REQUIRE(fates.size() == 2);
    CHECK(fates[0].starts_with("steered a returned agent_"));
    CHECK(fates[0].ends_with(" left"));
    CHECK(fates[1].ends_with(" right"));
    CHECK(t.seen.index(fates[1]) < t.seen.index(t.seen.with("settled").at(0)));
    if (deletes) continue;
    CHECK(agent.steer("late").reason == Errc::agent_stopped);
    CHECK(agent.resume().took_effect());
    t.settle();
    CHECK(t.state("a") == AgentState::idle);
    CHECK(agent.steer("again"));
    t.settle();
    CHECK(t.state("a") == AgentState::waiting_llm);
  }
}

TEST_CASE("after an interrupt a steered message is next, unless the queue is dropped",
          "[tree][steer][interrupt]") {
  for (const QueueAction queue : {QueueAction::deliver, QueueAction::hold, QueueAction::drop}) {
    ToolTurn t;
    const Agent agent = t.agent();
    t.ask(agent);
    t.call({held_call()});
    CHECK(agent.steer("left"));
    CHECK(agent.interrupt({.queue = queue}).took_effect());
    t.settle();
    if (queue == QueueAction::drop) {
      CHECK(joined(t.seen.with("steered")) == "steered a returned turn_over left");
      CHECK(t.state("a") == AgentState::idle);
      continue;
    }
    CHECK(joined(t.seen.with("steered")) == "steered a queued");
    CHECK(t.state("a") == (queue == QueueAction::hold ? AgentState::idle : AgentState::waiting_llm));
    if (queue == QueueAction::hold) CHECK(agent.release_queue().took_effect());
    t.settle();
    CHECK(t.history().ends_with("user:left"));
  }
}

TEST_CASE("an interrupt of a steered message gives that one back, and the turn goes on",
          "[tree][steer][interrupt]") {
  for (const bool between_polls : {true, false}) {
    ToolTurn t;
    const Agent agent = t.agent();
    t.ask(agent);
    t.call({held_call()});
    const SendResult one = agent.steer("left"), two = agent.steer("and fast"), three = agent.steer("please");
    CHECK((one && two && three));
    CHECK(agent.interrupt({.message = two.id}).took_effect());
    CHECK(agent.interrupt({.message = two.id}).reason == Errc::turn_over);
    if (between_polls) {
      t.settle();
      CHECK(joined(t.seen.with("steered")) == "steered a returned turn_over and fast");
    }
    t.held.calls[0].done(ToolResult::done("moved"));
    t.settle();
    CHECK(written(t.llm->call(1).request.messages).ends_with("user+:left, user+:please"));
    CHECK(t.seen.with("steered").size() == 3);
    CHECK(agent.interrupt({.message = one.id}).reason == Errc::turn_over);  // it was delivered
    t.answer("done");
    CHECK(t.result->outcome == TurnOutcome::completed);
  }
}

TEST_CASE("a message that is dropped after it ended the model call does not end the next one",
          "[tree][steer][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  SendResult steered;
  const auto drops = t.tree->on<ModelCallEnded>(
      [&](const ModelCallEnded&) { CHECK(agent.interrupt({.message = steered.id}).took_effect()); });
  steered = agent.steer("left", now);
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a returned turn_over left");
  CHECK(written(t.llm->call(1).request.messages) == "user:question");
  t.llm->answer("a", "done");
  t.settle();
  CHECK(joined(t.seen.with("ended")) == "ended a 1 completed");
}

TEST_CASE("a steered message that an interrupt has dropped waits for no turn", "[tree][steer][interrupt]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent, "one");
  const SendResult steered = agent.steer("two");
  CHECK(t.tree->pause_all().took_effect());
  CHECK(agent.interrupt({.message = steered.id}).took_effect());
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a returned turn_over two");
  CHECK(agent.queue_length().value() == 0);
  CHECK(agent.queued().value().empty());
}

TEST_CASE("a steered message to a handler follows its turn", "[tree][steer]") {
  TreeFixture t;
  std::vector<std::string> handled;
  const Agent agent = t.root("a", {.handler = [&](const Agent& self, const Message& message) {
                               handled.push_back(message.text);
                               if (message.text == "one") CHECK_FALSE(self.steer("two", now).ended_call);
                             }});
  CHECK(agent.send("one"));
  CHECK(agent.send("three"));
  t.settle();
  CHECK(joined(handled) == "one two three");
  CHECK(joined(t.seen.with("steered")) == "steered a queued");
}

TEST_CASE("a steer is refused for the reasons of a send", "[tree][steer][G12]") {
  TreeFixture t({.max_message_bytes = 10});
  const Agent agent = t.root("a", {.limits = {.mailbox = 1}});
  CHECK(agent.steer("").reason == Errc::empty_message);
  CHECK(agent.steer("much too long").reason == Errc::message_too_large);
  CHECK(agent.steer("\xff").reason == Errc::invalid_utf8);
  CHECK(Agent{}.steer("x").reason == Errc::agent_not_found);
  t.ask(agent, "q");
  CHECK(agent.steer("x"));
  const SendResult full = agent.steer("y");
  CHECK((full.reason == Errc::mailbox_full && !full.id));
  CHECK(agent.send("z"));
  t.llm->answer("a", "ok");
  t.settle();
  CHECK(joined(t.seen.with("steered")) == "steered a returned mailbox_full x");
  t.runtime.reset();
  CHECK(agent.steer("x").reason == Errc::runtime_gone);
}

TEST_CASE("steer from every callback and from another thread", "[tree][steer]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  std::thread([&] { CHECK(agent.steer("one", now).ended_call); }).join();
  t.settle();
  REQUIRE(t.llm->calls() == 2);
  const auto deltas = t.tree->on<DeltaReceived>([&](const DeltaReceived& delta) {
    if (delta.text == "x") CHECK(delta.agent.steer("two", now).ended_call);
  });
  const auto cuts = t.tree->on<ModelCallEnded>([&](const ModelCallEnded& ended) {
    CHECK((ended.kept_bytes == 0 && ended.cause == ReaskCause::steered));
    if (ended.call == 2) CHECK(ended.agent.steer("three", now).accepted());
  });
  const auto steers = t.tree->on<Steered>([&](const Steered& steered) {
    if (steered.call == 3 && steered.turn == 1 && t.seen.with("steered").size() == 2)
      CHECK(steered.agent.steer("four", now).accepted());
  });
  t.llm->delta("a", "x");
  t.settle();
  t.answer("ok");
  CHECK(t.result->outcome == TurnOutcome::completed);
  CHECK(t.history() == "user:question, user+:one, user+:two, user+:three, user+:four, assistant:ok");
}

TEST_CASE("a verb within the events of a steer ends the turn", "[tree][steer][G1]") {
  for (const std::string verb : {"stop", "interrupt", "terminate", "destroy"})
    for (const bool at_cut : {true, false}) {
      ToolTurn t;
      t.check_at_end = verb == "stop" || verb == "interrupt";
      const Agent agent = t.agent();
      t.ask(agent);
      const auto act = [&] {
        if (verb == "stop") CHECK(agent.stop().took_effect());
        if (verb == "interrupt") CHECK(agent.interrupt().took_effect());
        if (verb == "terminate") CHECK(agent.terminate().took_effect());
        if (verb == "destroy") t.tree.reset();
      };
      Subscription cuts, steers;
      if (at_cut)
        cuts = t.tree->on<ModelCallEnded>([&](const ModelCallEnded&) { act(); });
      else
        steers = t.tree->on<Steered>([&](const Steered& steered) {
          if (steered.fate == SteerFate::delivered) act();
        });
      CHECK(agent.steer("one", {.when = SteerWhen::now, .fallback = SteerFallback::give_back}));
      CHECK(agent.steer("two", give_back));
      t.settle();
      CHECK(t.llm->calls() == 1);
      if (verb == "destroy") continue;
      CHECK(t.seen.with("steered").size() == 2);
      if (verb == "terminate") continue;
      CHECK(t.result->outcome == (verb == "stop" ? TurnOutcome::stopped : TurnOutcome::interrupted));
      CHECK(is_valid_history(agent.conversation().value()));
    }
}

TEST_CASE("the usage of a call that a steer ended is counted", "[tree][steer][usage]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.llm->delta("a", std::string(250, 'x'));
  CHECK(agent.steer("shorter", now));
  t.settle();
  t.answer("");
  CHECK(t.result->usage.completion_tokens >= 100);  // of the 250 bytes
}

TEST_CASE("a steered message is no boundary of a turn", "[context][steer]") {
  const std::vector<ChatMessage> history{ChatMessage::user("q"), test::steered(ChatMessage::user("s")),
                                         ChatMessage::assistant("a")};
  CHECK(is_valid_history(history));
  const auto invalid = [](std::vector<ChatMessage> messages, std::string_view why) {
    const std::string problem = detail::llm::history_problem(messages);
    INFO(problem);
    CHECK(problem.find(why) != std::string::npos);
    CHECK(is_valid_history(repair_history(std::move(messages)).messages));
  };
  const ChatMessage steered = test::steered(ChatMessage::user("s"));
  ChatMessage answer = ChatMessage::assistant("a");
  answer.steered = true;
  ChatMessage marked = steered;
  marked.interruption = Interruption::stopped;
  ChatMessage call = ChatMessage::assistant("");
  call.append(std::vector<ToolCall>{{"c1", "f", "{}"}});
  invalid({steered}, "is marked as steered, but no turn is open before it");
  invalid({ChatMessage::user("q"), ChatMessage::assistant("a"), steered}, "no turn is open before it");
  invalid({ChatMessage::user("q"), answer}, "is marked as steered, which only a user message may be");
  invalid({ChatMessage::user("q"), marked, ChatMessage::assistant("a")},
          "is marked as interrupted and as steered; mark the question instead");
  invalid({ChatMessage::user("q"), call, steered, ChatMessage::tool_result("c1", "r")},
          "comes before the result of tool call 'c1'");
}

TEST_CASE("a steered message is never handled as an answer of the model", "[tree][steer]") {
  ToolTurn t;
  const Agent agent = t.agent({.tool_protocol = ToolProtocol::text});
  const bool in_turn = GENERATE(true, false);
  if (in_turn) t.ask(agent);
  const std::string text = R"(<tool_call>{"name":"held","arguments":{}}</tool_call>)";
  CHECK(agent.steer(text));
  t.settle();
  if (in_turn) t.answer("words");
  t.settle();
  CHECK(t.held.calls.empty());
  REQUIRE(t.llm->calls() == (in_turn ? 2 : 1));
  CHECK(t.llm->call(in_turn ? 1 : 0).request.messages.back().content() == text);
}

TEST_CASE("the id of a steered message that came back is never given again", "[tree][steer][G7]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const bool by_stop = GENERATE(true, false);
  t.ask(agent);
  const MessageId steered = agent.steer("two", give_back).id;
  if (by_stop)
    CHECK(agent.stop().took_effect());
  else
    t.llm->answer("a", "ok");
  t.settle();
  REQUIRE(t.seen.count("steered a returned") == 1);
  CHECK(t.tree->message(steered).stage == MessageInfo{}.stage);
  if (by_stop) CHECK(agent.resume().took_effect());
  t.settle();
  CHECK(agent.interrupt({.queue = QueueAction::hold}).accepted());
  for (int i = 0; i < 200; ++i) {  // the cell comes again
    const SendResult sent = agent.send("next");
    REQUIRE(sent.accepted());
    REQUIRE(sent.id != steered);
    CHECK(agent.remove_queued(sent.id));
  }
}
