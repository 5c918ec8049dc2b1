// Rewind, regenerate and truncate: earlier turns of a conversation.
#include "support/drive/tool_turn.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

// Asks and lets the model answer.
MessageId take_turn(TreeFixture& t, const Agent& agent, std::string question, std::string_view answer) {
  const MessageId id = agent.send(std::move(question)).id;
  t.settle();
  t.llm->answer(agent.id(), answer);
  t.settle();
  return id;
}

std::string numbers(const Agent& agent) {
  std::string all;
  for (const ConversationTurn& turn : agent.turns().value())
    all += (all.empty() ? "" : " ") + std::to_string(turn.turn) + "@" + std::to_string(turn.question) +
           (turn.ended ? "" : "+");
  return all;
}

std::string history(const Agent& agent) {
  return written(agent.conversation().value());
}

}  // namespace

TEST_CASE("the turns of a conversation have the numbers of their events", "[tree][rewind]") {
  ToolTurn t;
  AgentSpec spec;
  spec.system_prompt = "Be brief.";
  const Agent agent = t.agent(std::move(spec));
  CHECK(numbers(agent).empty());
  take_turn(t, agent, "one", "1");
  CHECK(agent.simulate("not in the history"));
  t.settle();
  t.ask(agent, "two");
  CHECK(numbers(agent) == "1@1 3@3+");
  t.answer("2");
  CHECK(numbers(agent) == "1@1 3@3");
}

TEST_CASE("the turns of a history come first, and those of the agent go on with their numbers",
          "[tree][rewind]") {
  TreeFixture t;
  AgentSpec spec;
  spec.history = {ChatMessage::system("Be brief."), ChatMessage::user("one"), ChatMessage::assistant("1"),
                  ChatMessage::user("two")};
  spec.history.back().interruption = Interruption::stopped;
  const Agent agent = t.root("a", std::move(spec));
  CHECK(numbers(agent) == "1@1 2@3");
  take_turn(t, agent, "three", "3");
  CHECK(t.seen.count("started a 3") == 1);
  CHECK(numbers(agent) == "1@1 2@3 3@4");
  const auto removed = agent.rewind(2);
  REQUIRE(removed);
  CHECK(written(removed.value()) == "user:two!stopped, user:three, assistant:3");
  CHECK(history(agent) == "system:Be brief., user:one, assistant:1");
  take_turn(t, agent, "four", "4");
  CHECK(numbers(agent) == "1@1 4@3");
}

TEST_CASE("a rewind removes a turn and all that follows, and reports what is left", "[tree][rewind][G8]") {
  TreeFixture t;
  AgentSpec spec;
  spec.system_prompt = "Be brief.";
  const Agent agent = t.root("a", std::move(spec));
  take_turn(t, agent, "one", "1");
  take_turn(t, agent, "two", "2");
  take_turn(t, agent, "three", "3");
  std::vector<ConversationChanged> changes;
  const auto changed =
      t.tree->on<ConversationChanged>([&](const ConversationChanged& change) { changes.push_back(change); });
  const auto removed = agent.rewind(2);
  REQUIRE(removed);
  CHECK(written(removed.value()) == "user:two, assistant:2, user:three, assistant:3");
  REQUIRE(changes.size() == 1);
  CHECK((changes[0].turn == 2 && changes[0].kept_messages == 3));
  CHECK(changes[0].change == ConversationChange::rewound);
  CHECK(agent.send(removed.value().front().content() + "?"));
  t.settle();
  CHECK(written(t.llm->call(3).request.messages) == "system:Be brief., user:one, assistant:1, user:two?");
  CHECK(agent.rewind(2).error().code == Errc::turn_not_found);
  CHECK(agent.rewind(9).error().code == Errc::turn_not_found);
}

TEST_CASE("a rewind ends the turn in progress as an interrupt does", "[tree][rewind][G7][G8]") {
  for (const std::uint64_t to : {1U, 2U}) {
    ToolTurn t;
    AgentSpec spec;
    spec.partial_answers = PartialAnswers::keep;
    const Agent agent = t.agent(std::move(spec));
    take_turn(t, agent, "one", "1");
    CHECK(agent.send("two"));
    CHECK(agent.send("three"));
    t.settle();
    t.llm->delta("a", "The");
    const auto removed = agent.rewind(to);
    REQUIRE(removed);
    CHECK(written(removed.value()).ends_with("user:two!interrupted, assistant:The!interrupted"));
    CHECK(t.result->outcome == TurnOutcome::interrupted);
    CHECK(t.seen.count("ended a 2 interrupted") == 1);
    CHECK(t.llm->call(1).stop.stop_requested());
    CHECK(t.state("a") == AgentState::idle);
    t.settle();
    CHECK(written(t.llm->call(2).request.messages) ==
          (to == 1 ? "user:three" : "user:one, assistant:1, user:three"));
  }
}

TEST_CASE("a rewind ends tool calls, and nothing of them is written", "[tree][rewind][G7][G9]") {
  ToolTurn t;
  const Agent agent = t.agent();
  t.ask(agent);
  t.call({{.name = "held"}, {.name = "held"}});
  const auto removed = agent.rewind(1);
  REQUIRE(removed);
  CHECK(is_valid_history(removed.value()));
  CHECK(removed.value().size() == 4);
  CHECK(t.held.calls[0].context.stop().stop_requested());
  CHECK(history(agent).empty());
  t.held.calls[0].done(ToolResult::done("late"));
  t.settle();
  CHECK(history(agent).empty());
  CHECK(t.seen.with("discarded").size() == 1);
}

TEST_CASE("a rewind may be called from every callback of a turn", "[tree][rewind][G4][G7]") {
  // Returns the number of events up to the end of the turn.
  const auto run = [](std::size_t rewind_at) {
    ToolTurn t;
    std::size_t events = 0;
    const Agent agent = t.agent();
    const auto all = t.tree->on_event([&](const Event&) {
      if (++events == rewind_at) CHECK(agent.rewind(1));
    });
    CHECK(agent.send("question"));
    t.settle();
    if (t.llm->find("a")) t.llm->delta("a", "x");
    if (t.llm->find("a")) t.call({add_call("1", 1, 2), {.name = "held"}});
    if (t.held.calls.size() == 1) t.held.calls[0].done(ToolResult::done("held"));
    t.settle();
    if (t.llm->find("a")) t.answer("3");
    t.settle();
    CHECK(t.seen.count("ended a 1") == 1);
    CHECK(t.state("a") == AgentState::idle);
    CHECK(history(agent).empty() == (rewind_at <= events));
    return events;
  };
  const std::size_t events = run(1000);
  CHECK(events > 8);
  for (std::size_t at = 1; at <= events; ++at) {
    INFO(at);
    run(at);
  }
}

TEST_CASE("observers of the end of the turn may delete the agent or destroy the tree", "[tree][rewind][G4]") {
  for (const bool destroys : {false, true}) {
    TreeFixture t;
    const Agent agent = t.root("a");
    t.ask(agent);
    const auto ends = t.tree->on<TurnEnded>([&](const TurnEnded&) {
      if (destroys)
        t.tree.reset();
      else
        CHECK(agent.terminate().took_effect());
    });
    const auto removed = agent.rewind(1);
    CHECK(removed.error().code == (destroys ? Errc::agent_not_found : Errc::agent_terminating));
    if (destroys) t.check_at_end = false;
    t.settle();
    CHECK_FALSE(agent.exists());
  }
}

TEST_CASE("a stopped agent can be rewound and stays stopped", "[tree][rewind][G3]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.stop().took_effect());
  SECTION("at once") {
  }
  SECTION("when it has settled") {
    t.settle();
  }
  CHECK(agent.rewind(1));
  CHECK(history(agent).empty());
  t.settle();
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(t.seen.count("ended a 1 stopped") == 1);
}

TEST_CASE("regenerate asks the last question again, before all messages that wait", "[tree][rewind]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  take_turn(t, agent, "one", "1");
  const std::vector<ContentPart> parts = {{.url = "https://example.com/cat.png"}};
  CHECK(agent.send({.text = "two", .parts = parts}));
  CHECK(agent.send("three"));
  t.settle();
  SECTION("while it is answered") {
  }
  SECTION("after a steer") {
    CHECK(agent.steer("shorter", {.when = SteerWhen::now}).accepted());
    t.settle();
  }
  const std::size_t calls = t.llm->calls();
  const SendResult sent = agent.regenerate();
  REQUIRE(sent);
  CHECK(history(agent) == "user:one, assistant:1");
  t.settle();
  CHECK(written(t.llm->call(calls).request.messages) == "user:one, assistant:1, user:two");
  CHECK(t.llm->call(calls).request.messages.back().parts() == parts);
  CHECK(t.seen.count("rewound a 2") == 1);
  CHECK(numbers(agent) == "1@0 3@2+");
}

TEST_CASE("a refused regenerate changes nothing", "[tree][rewind][G12]") {
  TreeFixture t;
  AgentSpec spec;
  spec.limits.mailbox = 1;
  const Agent agent = t.root("a", std::move(spec));
  CHECK(agent.regenerate().reason == Errc::turn_not_found);
  CHECK(Agent().regenerate().reason == Errc::agent_not_found);
  t.ask(agent, "one");
  CHECK(agent.send("waits"));
  const std::string before = history(agent);
  CHECK(agent.regenerate().reason == Errc::mailbox_full);
  CHECK(agent.stop().took_effect());
  CHECK(agent.regenerate().reason == Errc::agent_stopping);
  t.settle();
  CHECK(agent.regenerate().reason == Errc::agent_stopped);
  CHECK(history(agent) == "user:one!stopped");
  CHECK(t.seen.count("rewound") == 0);
  CHECK(agent.terminate().took_effect());
  CHECK(agent.regenerate().reason == Errc::agent_terminating);
  CHECK(agent.rewind(1).error().code == Errc::agent_terminating);
}

TEST_CASE("a regenerate of a stopped agent with auto_resume resumes it", "[tree][rewind]") {
  TreeFixture t;
  AgentSpec spec;
  spec.auto_resume = true;
  const Agent agent = t.root("a", std::move(spec));
  t.ask(agent, "one");
  CHECK(agent.stop().took_effect());
  t.settle();
  CHECK(agent.regenerate());
  t.settle();
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(history(agent) == "user:one");
}

TEST_CASE("a truncated answer is what was heard of it", "[tree][truncate][G8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  take_turn(t, agent, "one", "1");
  const MessageId two = take_turn(t, agent, "two", "caf\xC3\xA9 au lait");
  CHECK(agent.truncate_answer(two, 100));
  CHECK(t.seen.count("truncated") == 0);
  CHECK(agent.truncate_answer(two, 4));
  CHECK(history(agent) == "user:one, assistant:1, user:two, assistant:caf!truncated");
  CHECK(t.seen.count("truncated a 3") == 1);
  CHECK(is_valid_history(agent.conversation().value()));
  t.ask(agent, "three");
  CHECK(written(t.llm->call(2).request.messages) ==
        "user:one, assistant:1, user:two, assistant:caf!truncated, user:three");
  CHECK(agent.truncate_answer(two, 1).code() == Errc::turn_over);
}

TEST_CASE("a truncated answer has no reasoning", "[tree][truncate][G8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const MessageId id = agent.send("one").id;
  t.settle();
  t.llm->delta("a", "hello there");
  ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete);
  outcome.reasoning = {{.dialect = "test", .data = "signed for the whole text"}};
  FakeClient::finish(*t.llm->find("a"), std::move(outcome));
  t.settle();
  REQUIRE(agent.conversation().value().back().reasoning().size() == 1);
  CHECK(agent.truncate_answer(id, 5));
  CHECK(agent.conversation().value().back().content() == "hello");
  CHECK(agent.conversation().value().back().reasoning().empty());
}

TEST_CASE("an answer of which nothing was heard is removed", "[tree][truncate][G8]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const MessageId one = take_turn(t, agent, "one", " hello");
  CHECK(agent.truncate_answer(one, 1));
  CHECK(history(agent) == "user:one!interrupted");
  CHECK(is_valid_history(agent.conversation().value()));
  CHECK(agent.truncate_answer(one, 0).code() == Errc::turn_over);
}

TEST_CASE("a part of an answer is truncated further, and keeps its mark", "[tree][truncate][partial][G8]") {
  TreeFixture t;
  AgentSpec spec;
  spec.partial_answers = PartialAnswers::keep;
  const Agent agent = t.root("a", std::move(spec));
  const MessageId id = agent.send("one").id;
  t.settle();
  t.llm->delta("a", "hello");
  CHECK(agent.truncate_answer(id, 1).code() == Errc::turn_over);  // its turn is in progress
  CHECK(agent.interrupt().took_effect());
  t.settle();
  CHECK(agent.truncate_answer(id, 2));
  CHECK(history(agent) == "user:one!interrupted, assistant:he!interrupted");
  CHECK(agent.truncate_answer(id, 0));
  CHECK(history(agent) == "user:one!interrupted");
}

TEST_CASE("what is sent after a rewind is what was sent before", "[tree][rewind][context]") {
  TreeFixture t;
  AgentSpec spec;
  spec.context.max_tokens = 60;
  spec.context.target_tokens = 40;
  spec.context.min_conversation_tokens = 0;
  const Agent agent = t.root("a", std::move(spec));
  for (int i = 1; i <= 4; ++i) take_turn(t, agent, "question " + std::to_string(i), "a longer answer");
  const std::string before = written(t.llm->call(3).request.messages);
  REQUIRE_FALSE(before.starts_with("user:question 1"));  // trimmed
  CHECK(agent.regenerate());
  t.settle();
  CHECK(written(t.llm->call(4).request.messages) == before);
}

TEST_CASE("regenerate has the deadline and the callbacks of its options", "[tree][rewind][deadline]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  take_turn(t, agent, "one", "1");
  CHECK(agent.interrupt({.queue = QueueAction::hold}).accepted());
  const bool heard = GENERATE(true, false);
  std::vector<DropReason> ends;
  SendOptions options{.deadline = t.clock.now() + std::chrono::seconds(10)};
  if (heard) options.on_end = [&](const MessageEnd& end) { ends.push_back(end.dropped); };
  CHECK(agent.regenerate(std::move(options)));
  t.settle();
  t.advance(std::chrono::seconds(9));
  CHECK(t.seen.count("dropped a") == 0);
  t.advance(std::chrono::seconds(1));
  CHECK(t.seen.count("dropped a one deadline_exceeded") == 1);
  CHECK(ends == (heard ? std::vector{DropReason::deadline_exceeded} : std::vector<DropReason>{}));
}

TEST_CASE("a truncated answer takes the room of what is left of it", "[tree][truncate][context]") {
  TreeFixture t;
  AgentSpec spec;
  spec.context.max_tokens = 200;
  spec.context.target_tokens = 100;
  spec.context.min_conversation_tokens = 0;
  const Agent agent = t.root("a", std::move(spec));
  const MessageId first = take_turn(t, agent, "one", std::string(300, 'x'));
  take_turn(t, agent, "two", "2");  // the answer is counted now
  REQUIRE(agent.rewind(2));
  CHECK(agent.truncate_answer(first, 4));
  const std::string question(300, 'y');
  t.ask(agent, question);
  CHECK(written(t.llm->call(2).request.messages) == "user:one, assistant:xxxx!truncated, user:" + question);
}
