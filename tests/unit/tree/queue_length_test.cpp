// How many messages wait, right after a verb has dropped them.
#include "support/drive/tool_turn.hpp"

using namespace agentcore;
using namespace agentcore::test;

namespace {

// An agent in a model call, below a parent, with three messages that wait.
struct Waiting : ToolTurn {
  Agent parent = root("p");
  Agent a = child(parent, "a", {.tools = tools});
  std::vector<MessageId> ids;

  Waiting() {
    ask(a);
    for (const char* text : {"one", "two", "three"}) ids.push_back(a.send(text).id);
    REQUIRE(length() == 3);
  }
  std::size_t length() const { return a.queue_length().value(); }
  bool waits(MessageId id) const { return tree->message(id).stage == MessageInfo::Stage::queued; }
};

}  // namespace

TEST_CASE("no message waits when a stop or a delete has returned", "[tree][queue][G1][G12]") {
  Waiting t;
  SECTION("of the agent") {
    REQUIRE(t.a.stop().took_effect());
  }
  SECTION("of the agent, for good") {
    REQUIRE(t.a.terminate().took_effect());
  }
  SECTION("of its parent") {
    REQUIRE(t.parent.stop().took_effect());
  }
  SECTION("of all") {
    REQUIRE(t.tree->stop_all().took_effect());
  }
  CHECK(t.length() == 0);
  CHECK(t.a.queued().value().empty());
  for (const MessageId id : t.ids) {
    CHECK_FALSE(t.waits(id));
    CHECK(t.a.remove_queued(id).code() == Errc::message_not_found);
    CHECK(t.a.edit_queued(id, {.text = "other"}).code() == Errc::message_not_found);
  }
  t.settle();
  CHECK(t.seen.count("dropped a") == 3);
}

TEST_CASE("the messages that an abort or an interrupt drops wait no more when it has returned",
          "[tree][queue][G1]") {
  Waiting t;
  const bool aborts = GENERATE(true, false);
  if (aborts)
    REQUIRE(t.a.abort({.queue = QueueAction::drop}).took_effect());
  else
    REQUIRE(t.a.interrupt({.queue = QueueAction::drop}).took_effect());
  CHECK(t.length() == 0);
  CHECK(t.a.queued().value().empty());
  CHECK_FALSE(t.waits(t.ids[0]));
  CHECK(t.a.remove_queued(t.ids[0]).code() == Errc::message_not_found);
  const MessageId later = t.a.send("later").id;
  CHECK(t.length() == 1);
  CHECK(t.waits(later));
  REQUIRE(t.a.queued().value().size() == 1);
  CHECK(t.a.queued().value()[0].id == later);
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == 1);
  CHECK(t.seen.count("dropped a") == 3);
  CHECK(t.a.drop_queue().value() == 1);
}

TEST_CASE("a message that an interrupt by its id has withdrawn waits no more", "[tree][queue][G1]") {
  Waiting t;
  REQUIRE(t.a.interrupt({.message = t.ids[1]}).took_effect());
  CHECK(t.length() == 2);
  CHECK_FALSE(t.waits(t.ids[1]));
  CHECK(t.a.queued().value().size() == 2);
  CHECK(t.a.edit_queued(t.ids[1], {.text = "other"}).code() == Errc::message_not_found);
  const bool aborts_too = GENERATE(true, false);
  if (aborts_too) {
    REQUIRE(t.a.abort({.queue = QueueAction::drop}).took_effect());
    CHECK(t.length() == 0);
  }
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == (aborts_too ? 0 : 2));
}

TEST_CASE("drop_queue returns the number of the messages that waited", "[tree][queue]") {
  Waiting t;
  REQUIRE(t.a.abort({.queue = QueueAction::drop}).took_effect());
  REQUIRE(t.a.send("later"));
  CHECK(t.a.drop_queue().value() == 1);
  CHECK(t.length() == 0);
  t.settle();
  CHECK(t.seen.count("dropped a") == 4);
}

TEST_CASE("a full mailbox takes messages again when a verb has dropped those that waited",
          "[tree][queue][G1][G12]") {
  ToolTurn t;
  const Agent a = t.child(t.root("p"), "a", {.tools = t.tools, .limits = {.mailbox = 3}});
  t.ask(a);
  std::vector<MessageId> ids;
  const auto fill = [&] {
    ids.clear();
    while (const SendResult sent = a.send("text")) ids.push_back(sent.id);
    CHECK(a.send("more").reason == Errc::mailbox_full);
    return ids.size();
  };
  CHECK(fill() == 3);
  SECTION("by an abort") {
    REQUIRE(a.abort({.queue = QueueAction::drop}).took_effect());
  }
  SECTION("by an interrupt") {
    REQUIRE(a.interrupt({.queue = QueueAction::drop}).took_effect());
  }
  SECTION("by an interrupt of each") {
    for (const MessageId id : std::vector(ids)) REQUIRE(a.interrupt({.message = id}).took_effect());
  }
  SECTION("by drop_queue()") {
    REQUIRE(a.drop_queue().value() == 3);
  }
  SECTION("by remove_queued() of each") {
    for (const MessageId id : ids) REQUIRE(a.remove_queued(id));
  }
  CHECK(a.queue_length().value() == 0);
  CHECK(fill() == 3);
  CHECK(a.queue_length().value() == 3);
  REQUIRE(a.pause().took_effect());
  t.settle();
  CHECK(a.queue_length().value() == 3);
  CHECK(t.seen.count("dropped a") == 3);
  CHECK(a.send("more").reason == Errc::mailbox_full);
}

TEST_CASE("queue_length is right in the event of a message that was withdrawn", "[tree][queue]") {
  Waiting t;
  std::vector<std::size_t> lengths;
  const Subscription events =
      t.tree->on<MessageDropped>([&](const MessageDropped&) { lengths.push_back(t.length()); });
  REQUIRE(t.a.interrupt({.message = t.ids[0]}).took_effect());
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(lengths == std::vector<std::size_t>{2});
}

TEST_CASE("a message that was withdrawn and cleared counts once", "[tree][queue]") {
  Waiting t;
  REQUIRE(t.a.interrupt({.message = t.ids[0]}).took_effect());
  CHECK(t.a.drop_queue().value() == 2);
  REQUIRE(t.a.send("later"));
  CHECK(t.length() == 1);
}

TEST_CASE("steered messages that a verb has dropped leave room for others, which stay",
          "[tree][queue][steer][G1][G12]") {
  ToolTurn t;
  const Agent a = t.child(t.root("p"), "a", {.tools = t.tools, .limits = {.mailbox = 2}});
  t.ask(a);
  REQUIRE(a.steer("one"));
  REQUIRE(a.steer("two"));
  CHECK(a.steer("three").reason == Errc::mailbox_full);
  const bool aborts = GENERATE(true, false);
  if (aborts)
    REQUIRE(a.abort({.queue = QueueAction::drop}).took_effect());
  else
    REQUIRE(a.interrupt({.queue = QueueAction::drop}).took_effect());
  REQUIRE(a.steer("later"));
  REQUIRE(a.pause().took_effect());
  t.settle();
  CHECK(joined(t.seen.with("steered")) ==
        "steered a returned turn_over one steered a returned turn_over two steered a queued");
  CHECK(a.queue_length().value() == 1);
}

TEST_CASE("an interrupt of a message that a verb has dropped finds it over, and counts nothing",
          "[tree][queue][interrupt][G1][G12]") {
  Waiting t;
  REQUIRE(t.a.abort({.queue = QueueAction::drop}).took_effect());
  const MessageId later = t.a.send("later").id;
  REQUIRE(t.a.send("last"));
  const VerbResult result = t.a.interrupt({.message = t.ids[1]});
  CHECK(result.reason == Errc::turn_over);
  CHECK_FALSE(result.took_effect());
  CHECK(t.length() == 2);
  REQUIRE(t.a.interrupt({.message = later}).took_effect());
  CHECK(t.length() == 1);
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == 1);
  CHECK(t.seen.with("dropped") ==
        std::vector<std::string>{"dropped a one queue_dropped", "dropped a two queue_dropped",
                                 "dropped a three queue_dropped", "dropped a later interrupted"});
}

TEST_CASE("a message that is removed behind those that a verb has dropped counts no more", "[tree][queue]") {
  Waiting t;
  REQUIRE(t.a.abort({.queue = QueueAction::drop}).took_effect());
  const MessageId later = t.a.send("later").id;
  REQUIRE(t.a.send("last"));
  REQUIRE(t.a.remove_queued(later));
  CHECK(t.length() == 1);
  REQUIRE(t.a.queued().value().size() == 1);
  CHECK(t.a.queued().value()[0].message.text == "last");
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == 1);
}
