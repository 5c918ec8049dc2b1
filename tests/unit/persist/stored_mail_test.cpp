// Messages in a store: each is there once, as it is now, and is said to be stored once.
#include "support/catch.hpp"
#include "support/store/life.hpp"
#include "support/store/store_faults.hpp"
#include "support/store/store_reading.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>

#include <cstddef>
#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void poll(Life& life) {
  for (int i = 0; i < 12; ++i) life.runtime.poll();
}

std::vector<std::string> waiting(const Agent& agent) {
  std::vector<std::string> texts;
  for (const QueuedMessage& queued : agent.queued().value()) texts.push_back(queued.message.text);
  return texts;
}

std::size_t count_mail(Store& store) {
  using namespace detail::persist;
  return records_of(store, key_of(Kind::mail), last_of(Kind::mail)).size();
}

// How often a message was said to be stored, and to have ended.
struct Said {
  std::size_t stored = 0, ended = 0;
};
Said said_of(const Life& life, MessageId id) {
  Said said;
  for (const MessagePersisted& event : life.messages)
    if (event.message == id) ++(event.ended ? said.ended : said.stored);
  return said;
}

}  // namespace

TEST_CASE("a message is said to be stored once, and once to have ended", "[persist][events][mail]") {
  const Durability durability =
      GENERATE(Durability::each_turn, Durability::each_step, Durability::each_message);
  const bool waits = GENERATE(false, true);
  CAPTURE(to_string(durability), waits);
  MemoryStore store;
  Life life(store, {.durability = durability});
  const Agent agent = life.create("a");
  if (waits) REQUIRE(agent.pause().took_effect());
  std::vector<MessageId> ids;
  for (const char* const text : {"one", "two", "three"}) ids.push_back(agent.send(text).id);
  REQUIRE(life.tree->flush());
  if (waits) {
    for (const MessageId id : ids) {
      CHECK(said_of(life, id).stored == 1);
      CHECK(said_of(life, id).ended == 0);
    }
    REQUIRE(agent.unpause().took_effect());
  }
  life.runtime.run_until_idle();
  REQUIRE(life.tree->flush());
  for (const MessageId id : ids) {
    CHECK(said_of(life, id).stored <= 1);
    if (waits) CHECK(said_of(life, id).stored == 1);
    CHECK(said_of(life, id).ended == 1);
  }
  CHECK(count_mail(store) == 0);
}

TEST_CASE("a message is said to be stored in the order of sending", "[persist][events][mail]") {
  MemoryStore store;
  Life life(store, {.durability = Durability::each_message});
  std::vector<Agent> agents;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(life.create("a" + std::to_string(i)));
    REQUIRE(agents.back().pause().took_effect());
  }
  poll(life);
  std::vector<MessageId> ids, told;
  for (const Agent& agent : agents)
    for (int i = 0; i < 2; ++i) ids.push_back(agent.send("x").id);
  poll(life);
  for (const MessagePersisted& event : life.messages) told.push_back(event.message);
  CHECK(told == ids);
}

TEST_CASE("a turn that goes on over a restart was said to be stored before",
          "[persist][events][mail][turns]") {
  MemoryStore store;
  MessageId id;
  {
    Life life(store);
    testing::ScriptedReply silent;
    silent.silent = true;
    life.llm.enqueue(silent);
    id = life.create("a").send("go").id;
    poll(life);
    REQUIRE(life.tree->flush());
    CHECK(said_of(life, id).stored == 1);
  }
  Life life(store, {.durability = Durability::each_step, .turns = InterruptedTurns::go_on});
  life.runtime.run_until_idle();
  REQUIRE(life.tree->flush());
  CHECK(Life::texts(life.find("a")) == std::vector<std::string>{"go", "go"});
  CHECK(said_of(life, id).stored == 0);
  CHECK(said_of(life, id).ended == 1);
}

TEST_CASE("a mailbox that has got an urgent message and lost others is in the store as it is",
          "[persist][restore][mail]") {
  const std::size_t removed = GENERATE(as<std::size_t>(), 0, 1, 2, 3, 4);
  const bool urgent = GENERATE(false, true);
  CAPTURE(removed, urgent);
  MemoryStore store;
  std::vector<std::string> wanted;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    std::vector<MessageId> ids;
    for (const char* const text : {"one", "two", "three", "four"}) ids.push_back(agent.send(text).id);
    poll(life);
    REQUIRE(count_mail(store) == 4);
    for (std::size_t i = 0; i < removed; ++i) REQUIRE(agent.remove_queued(ids[i]));
    if (urgent) REQUIRE(agent.send({.text = "urgent", .priority = MessagePriority::urgent}));
    poll(life);
    wanted = waiting(agent);
    CHECK(wanted.size() == 4 - removed + (urgent ? 1 : 0));
    CHECK(count_mail(store) == wanted.size());
    MemoryStore killed = store;
    Life next(killed);
    REQUIRE(next.report);
    CHECK(waiting(next.find("a")) == wanted);
    // It goes on so.
    REQUIRE(agent.send("last"));
    poll(life);
    wanted.push_back("last");
  }
  CHECK(faults_of(store).empty());
  Life life(store);
  REQUIRE(life.report);
  CHECK(waiting(life.find("a")) == wanted);
}

TEST_CASE("a message that was edited while it waits is stored as it is now", "[persist][restore][mail]") {
  const Durability durability = GENERATE(Durability::each_turn, Durability::each_message);
  const bool had_urgent = GENERATE(false, true);  // the order has changed, too
  MemoryStore store;
  MessageId second;
  {
    Life life(store, {.durability = durability});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.send("first"));
    second = agent.send("second").id;
    REQUIRE(life.tree->flush());
    if (had_urgent) REQUIRE(agent.send({.text = "urgent", .priority = MessagePriority::urgent}));
    Message edited{.text = "edited", .sender = "me", .kind = "k"};
    edited.parts.push_back({.url = "https://example.org/a.png", .detail = "low"});
    REQUIRE(agent.edit_queued(second, edited));
    poll(life);
    REQUIRE(life.tree->flush());
    CHECK(said_of(life, second).stored == 1);
  }
  Life life(store);
  const std::vector<QueuedMessage> queued = life.find("a").queued().value();
  REQUIRE(queued.size() == (had_urgent ? 3 : 2));
  CHECK(queued.back().id == second);
  CHECK(queued.back().message.text == "edited");
  CHECK(queued.back().message.sender == "me");
  CHECK(queued.back().message.kind == "k");
  REQUIRE(queued.back().message.parts.size() == 1);
  CHECK(queued.back().message.parts[0].detail == "low");
}

TEST_CASE("a simulated answer that waits over a restart is an answer of the model",
          "[persist][restore][mail]") {
  MemoryStore store;
  {
    Life life(store, {.durability = Durability::each_message});
    const Agent agent = life.create("a");
    REQUIRE(agent.pause().took_effect());
    REQUIRE(agent.simulate("I say this."));
    REQUIRE(agent.send("and you?"));
    poll(life);
  }
  Life life(store);
  const Agent agent = life.find("a");
  REQUIRE(agent.unpause().took_effect());
  REQUIRE(agent.release_queue().took_effect());
  life.runtime.run_until_idle();
  CHECK(life.llm.calls() == 1);
  const std::vector<ChatMessage> messages = agent.conversation().value();
  REQUIRE_FALSE(messages.empty());
  CHECK(messages.back().content() == "and you?");
  for (const ChatMessage& message : messages)
    if (message.content() == "I say this.") CHECK(message.role == Role::assistant);
}
