// Sending: refusals have a reason, order is kept.
#include "support/drive/tree_fixture.hpp"
#include "support/observe/counted_heap.hpp"

#include <algorithm>

using namespace agentcore;
using namespace agentcore::test;

TEST_CASE("a message that cannot be taken is refused with the reason", "[tree][G12][X5][C6][C7][S1-P4][F1]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent child = t.child(parent, "child");
  t.ask(child);
  const auto refused = [&](Errc reason) {
    for (const Agent& agent : {parent, child}) {
      const SendResult sent = agent.send("x");
      CHECK_FALSE(sent.accepted());
      CHECK_FALSE(static_cast<bool>(sent));
      CHECK(sent.reason == reason);
      CHECK(agent.queue_length().value_or(0U) == 0);
    }
  };
  CHECK(parent.stop().took_effect());
  refused(Errc::agent_stopping);
  t.settle();
  refused(Errc::agent_stopping);
  t.llm->answer("child", "late");
  t.settle();
  refused(Errc::agent_stopped);
  CHECK(parent.terminate().took_effect());
  refused(Errc::agent_terminating);
  t.settle();
  refused(Errc::agent_not_found);
}

TEST_CASE("the mailbox takes exactly its limit", "[tree][G15][G12]") {
  TreeOptions options;
  options.mailbox_limit = 3;
  TreeFixture t(options);
  const Agent few = t.root("few", {.limits = {.mailbox = 1}});
  const Agent usual = t.root("usual");
  CHECK(few.send("1").accepted());
  CHECK(few.send("2").reason == Errc::mailbox_full);
  for (int i = 0; i < 3; ++i) CHECK(usual.send("x").accepted());
  CHECK(usual.send("x").reason == Errc::mailbox_full);
  CHECK(usual.queue_length().value() == 3);
  t.settle();
  CHECK(usual.queue_length().value() == 2);
  CHECK(usual.send("x").accepted());
}

TEST_CASE("messages that are too large or not text are refused", "[tree][G15]") {
  TreeOptions options;
  options.max_message_bytes = 4;
  TreeFixture t(options);
  const Agent agent = t.root("a");
  CHECK(agent.send("1234").accepted());
  CHECK(agent.send("12345").reason == Errc::message_too_large);
  CHECK(agent.send("\xff").reason == Errc::invalid_utf8);
  CHECK(agent.queue_length().value() == 1);
}

TEST_CASE("a message without text and images is refused for every agent", "[tree][X5][G12]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  const Agent handler = t.root("b", {.handler = [](const Agent&, const Message&) {}});
  for (const char* const text : {"", " ", " \t\r\n\f\v"}) {
    CAPTURE(text);
    for (const Agent& one : {agent, handler}) {
      CHECK(one.send(text).reason == Errc::empty_message);
      CHECK(one.send(Message{.text = text, .sender = "someone"}).reason == Errc::empty_message);
      CHECK(one.simulate(text).reason == Errc::empty_message);
      CHECK(one.queue_length().value() == 0);
    }
    CHECK(t["a"].send(text).reason == Errc::empty_message);
    // The pictures of a question; an answer has none.
    const std::vector<ContentPart> parts = {{.url = "https://a/b.png"}};
    CHECK(agent.send(Message{.text = text, .parts = parts}).accepted());
    CHECK(agent.drop_queue().value() == 1);
  }
  CHECK(agent.send(" . ").accepted());
  CHECK(t["nobody"].send("").reason == Errc::agent_not_found);
}

TEST_CASE("messages are handled in the order of sending and one step per agent and round", "[tree][F5][Q5]") {
  TreeFixture t;
  std::vector<std::string> handled;
  const MessageHandler note = [&](const Agent& agent, const Message& m) {
    handled.push_back(agent.id() + m.text + m.sender);
  };
  const Agent a = t.root("a", {.handler = note});
  const Agent b = t.root("b", {.handler = note});
  for (const char* const text : {"1", "2", "3"}) CHECK(a.send(Message{text, "x"}).accepted());
  for (const char* const text : {"1", "2"}) CHECK(t["b"].send(text).accepted());
  t.settle();
  CHECK(joined(handled) == "a1x b1 a2x b2 a3x");
}

TEST_CASE("an agent with many messages leaves turns to the agents of another tree", "[tree][Q5]") {
  TreeFixture t;
  AgentTree other(*t.runtime);
  std::vector<std::string> handled;
  const MessageHandler note = [&](const Agent& agent, const Message&) { handled.push_back(agent.id()); };
  const Agent busy = t.root("busy", {.handler = note});
  AgentSpec spec{.id = "late"};
  spec.handler = note;
  const Agent late = other.create(std::move(spec)).value();
  for (int i = 0; i < 100; ++i) CHECK(busy.send("x").accepted());
  CHECK(late.send("x").accepted());
  t.settle();
  REQUIRE(handled.size() == 101);
  CHECK(std::find(handled.begin(), handled.end(), "late") - handled.begin() <= 32);
}

TEST_CASE("a verb of a handler takes effect before the next message of its agent", "[tree][C13][Q5]") {
  TreeFixture t;
  int handled = 0;
  std::size_t settled_after = 0;
  const Agent other = t.root("other");
  const Agent agent = t.root(
      "busy", {.handler = [&](const Agent&, const Message&) {
        if (++handled != 3) return;
        CHECK(other
                  .stop({.on_settled =
                             [&](const StopReport&) { settled_after = static_cast<std::size_t>(handled); }})
                  .took_effect());
      }});
  for (int i = 0; i < 20; ++i) CHECK(agent.send("x").accepted());
  t.settle();
  CHECK(handled == 20);
  CHECK(settled_after == 3);
}

TEST_CASE("the queue can be counted and cleared", "[tree][F3][F4]") {
  TreeFixture t;
  const Agent agent = t.root("a");
  CHECK(agent.send("1").accepted());
  CHECK(agent.send("2").accepted());
  CHECK(agent.queue_length().value() == 2);
  CHECK(agent.drop_queue().value() == 2);
  CHECK(agent.queue_length().value() == 0);
  t.settle();
  CHECK(t.llm->calls() == 0);
  CHECK(agent.send("3").accepted());
  t.settle();
  CHECK(t.llm->calls() == 1);
}

TEST_CASE("an auto-resuming agent accepts a message while it is stopped", "[tree][X4]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "a", {.auto_resume = true});
  CHECK(agent.stop().took_effect());
  CHECK(agent.send("too early").reason == Errc::agent_stopping);
  t.settle();
  CHECK(agent.send("wake up").accepted());
  CHECK(t.state("a") == AgentState::idle);
  t.settle();
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(agent.send("again").reason == Errc::agent_stopped);  // its parent decides
}

TEST_CASE("of two sends to a stopped auto-resuming agent both are accepted", "[tree][G12][X4]") {
  struct Race : TreeFixture {
    Agent agent;
    std::optional<SendResult> other;
  } t;
  t.agent = t.root("a", {.auto_resume = true});
  CHECK(t.agent.stop().took_effect());
  t.settle();
  Message message{"one", {}};
  // A send allocates the first time when it has seen that the agent is stopped, and before it resumes it.
  const auto send_another = [](void* race) {
    static_cast<Race*>(race)->other = static_cast<Race*>(race)->agent.send(Message{"two", {}});
  };
  at_next_allocation(send_another, &t);
  const SendResult sent = t.agent.send(std::move(message));
  REQUIRE(t.other);
  CHECK(t.other->accepted());
  CHECK(sent.reason == Errc::none);
  CHECK(sent.accepted());
  CHECK(t.agent.queue_length().value() == 2);
}

TEST_CASE("an auto-resuming agent stays stopped while a stop is in progress or another verb closed it",
          "[tree][G12][X4]") {
  TreeFixture t;
  t.llm->on_stop = OnStop::deaf;
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "a", {.auto_resume = true});
  const Agent child = t.child(agent, "child");
  t.ask(child);
  CHECK(agent.stop({.scope = Scope::agent}).took_effect());
  t.settle();
  REQUIRE(t.state("a") == AgentState::stopped);
  CHECK(agent.stop().took_effect());  // widened: waits for the child
  CHECK_FALSE(agent.send("x").accepted());
  t.llm->answer("child", "late");
  t.settle();
  CHECK(parent.stop().took_effect());
  t.settle();
  CHECK(agent.send("x").reason == Errc::agent_stopped);  // its parent decides
  CHECK(parent.terminate().took_effect());
  CHECK(agent.send("x").reason == Errc::agent_terminating);
}

TEST_CASE("a message that a deferred stop above refuses does not resume its agent", "[tree][G3][G12][X4]") {
  TreeFixture t;
  const Agent parent = t.root("parent");
  const Agent agent = t.child(parent, "a", {.auto_resume = true});
  CHECK(agent.stop().took_effect());
  t.settle();
  t.ask(parent);
  CHECK(parent.stop({.when = StopWhen::after_turn}).took_effect());
  CHECK(agent.send("x").reason == Errc::agent_stopped);
  CHECK(agent.steer("y").reason == Errc::agent_stopped);
  CHECK(t.state("a") == AgentState::stopped);
  CHECK(parent.resume().took_effect());  // withdraws it
  CHECK(agent.send("z").accepted());
}

TEST_CASE("a refused message frees its cell", "[tree][G13]") {
  TreeFixture t;
  const Agent agent = t.root("a", {.limits = {.mailbox = 1}});
  REQUIRE(agent.send("1").accepted());
  CHECK(agent.send("2").reason == Errc::mailbox_full);
  const std::size_t before = test::allocations();
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) refused += agent.send("2").reason == Errc::mailbox_full;
  CHECK(refused == 10'000);
  CHECK(test::allocations() == before);  // a lost cell would have made the pool grow
}

namespace {

// Data that says so must not make a text run as the answer of a model.
template <typename T>
concept SaysSimulated = requires(T message) {
  message.simulated;
};

}  // namespace

TEST_CASE("only simulate() makes the tool calls of a text run", "[tree][K13]") {
  STATIC_REQUIRE_FALSE(SaysSimulated<Message>);
  TreeFixture t;
  const Agent agent = t.root("a");
  std::vector<bool> dropped;
  const auto drops =
      t.tree->on<MessageDropped>([&](const MessageDropped& drop) { dropped.push_back(drop.simulated); });
  CHECK(agent.send("<tool_call>{}</tool_call>").accepted());
  CHECK(agent.simulate("<tool_call>{}</tool_call>").accepted());
  const std::vector<QueuedMessage> queued = agent.queued().value();
  REQUIRE(queued.size() == 2);
  CHECK_FALSE(queued[0].simulated);
  CHECK(queued[1].simulated);
  SECTION("also of one that waits, and is dropped") {
    CHECK(agent.drop_queue().value() == 2);
    CHECK(dropped == std::vector{false, true});
  }
  SECTION("and no text that replaces a simulated answer") {
    CHECK(agent.edit_queued(queued[1].id, {.text = "<tool_call>{}</tool_call>"}).has_value());
    CHECK_FALSE(agent.queued().value()[1].simulated);
  }
}
