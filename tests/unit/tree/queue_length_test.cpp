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
    CHECK(t.a.remove_queued(id).reason == Errc::message_not_found);
    CHECK(t.a.edit_queued(id, {.text = "other"}).reason == Errc::message_not_found);
  }
  t.settle();
  CHECK(t.seen.count("dropped a") == 3);
}

TEST_CASE("the messages that an abort or an interrupt drops wait no more when it has returned",
          "[tree][queue][G1]") {
  Waiting t;
  const bool aborts = GENERATE(true, false);
  if (aborts)
    REQUIRE(t.a.abort({.clear_queue = true}).took_effect());
  else
    REQUIRE(t.a.interrupt({.queue = QueueAction::drop}).took_effect());
  CHECK(t.length() == 0);
  CHECK(t.a.queued().value().empty());
  CHECK_FALSE(t.waits(t.ids[0]));
  CHECK(t.a.remove_queued(t.ids[0]).reason == Errc::message_not_found);
  const MessageId later = t.a.send("later").id;
  CHECK(t.length() == 1);
  CHECK(t.waits(later));
  REQUIRE(t.a.queued().value().size() == 1);
  CHECK(t.a.queued().value()[0].id == later);
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == 1);
  CHECK(t.seen.count("dropped a") == 3);
  CHECK(t.a.clear_queue().value() == 1);
}

TEST_CASE("a message that an interrupt by its id has withdrawn waits no more", "[tree][queue][G1]") {
  Waiting t;
  REQUIRE(t.a.interrupt({.message = t.ids[1]}).took_effect());
  CHECK(t.length() == 2);
  CHECK_FALSE(t.waits(t.ids[1]));
  CHECK(t.a.queued().value().size() == 2);
  CHECK(t.a.edit_queued(t.ids[1], {.text = "other"}).reason == Errc::message_not_found);
  const bool aborts_too = GENERATE(true, false);
  if (aborts_too) {
    REQUIRE(t.a.abort({.clear_queue = true}).took_effect());
    CHECK(t.length() == 0);
  }
  REQUIRE(t.a.pause().took_effect());
  t.settle();
  CHECK(t.length() == (aborts_too ? 0 : 2));
}

TEST_CASE("clear_queue returns the number of the messages that waited", "[tree][queue]") {
  Waiting t;
  REQUIRE(t.a.abort({.clear_queue = true}).took_effect());
  REQUIRE(t.a.send("later"));
  CHECK(t.a.clear_queue().value() == 1);
  CHECK(t.length() == 0);
  t.settle();
  CHECK(t.seen.count("dropped a") == 4);
}
