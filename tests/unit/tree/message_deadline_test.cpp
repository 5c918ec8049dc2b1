// SendOptions::deadline, while the message waits in the mailbox.
#include "support/drive/tree_fixture.hpp"
#include "support/observe/counted_heap.hpp"

#include <thread>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

struct Waiting : TreeFixture {
  std::vector<MessageEnd> ends;

  SendOptions until(Duration time) {
    return {.on_end = [this](const MessageEnd& end) { ends.push_back(end); }, .deadline = clock.now() + time};
  }
  bool was_dropped() const {
    return ends.size() == 1 && ends[0].dropped == DropReason::deadline_exceeded && !ends[0].result;
  }
};

std::vector<std::string> texts(const Agent& agent) {
  std::vector<std::string> all;
  for (const QueuedMessage& queued : agent.queued().value()) all.push_back(queued.message.text);
  return all;
}

}  // namespace

TEST_CASE("a message that waits is dropped at its deadline", "[tree][messages][deadline][X53]") {
  Waiting t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const MessageId id = agent.send("one", t.until(10s)).id;
  CHECK(agent.send("two"));
  t.settle();
  t.advance(9999ms);
  CHECK(t.ends.empty());
  CHECK(texts(agent) == std::vector<std::string>{"one", "two"});
  t.advance(1ms);  // although the agent is busy
  CHECK(t.was_dropped());
  CHECK(t.ends.at(0).message == id);
  CHECK(t.seen.with("dropped") == std::vector<std::string>{"dropped a one deadline_exceeded"});
  CHECK(texts(agent) == std::vector<std::string>{"two"});
  CHECK(t.state("a") == AgentState::waiting_llm);
  CHECK_FALSE(t.runtime->next_deadline());
  t.llm->answer("a", "done");
  t.settle();
  CHECK(t.llm->find("a")->request.messages.back().content() == "two");
  CHECK_FALSE(t.llm->find("a")->request.deadline);
}

TEST_CASE("a message without a callback is dropped at its deadline", "[tree][messages][deadline][X53]") {
  Waiting t;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.send("one", {.deadline = t.clock.now() + 10s}));
  t.advance(10s);
  CHECK(t.seen.count("dropped a one deadline_exceeded") == 1);
}

TEST_CASE("a message that is taken after its deadline begins no turn", "[tree][messages][deadline][X53]") {
  Waiting t;
  int handled = 0;
  const bool has_handler = GENERATE(true, false);
  AgentSpec spec;
  if (has_handler) spec.handler = [&](const Agent&, const Message&) { ++handled; };
  const Agent agent = t.root("a", std::move(spec));
  SECTION("it had passed when the message was sent") {
    CHECK(agent.send("late", t.until(0s)));
    t.settle();
  }
  SECTION("the loop is late") {
    CHECK(agent.send("late", t.until(10s)));
    t.clock.advance(10s);
    t.settle();
  }
  SECTION("the mailbox is held") {
    CHECK(agent.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    CHECK(agent.send("late", t.until(10s)));
    t.advance(10s);
    CHECK(t.was_dropped());
    CHECK(agent.release_queue().took_effect());
    t.settle();
  }
  SECTION("it was sent by another thread") {
    std::thread([&] { CHECK(agent.send("late", t.until(10s))); }).join();
    t.clock.advance(10s);
    t.settle();
  }
  CHECK(t.was_dropped());
  CHECK(handled == 0);
  CHECK(t.llm->calls() == 0);
  CHECK(t.seen.count("started") == 0);
  CHECK(t.seen.count("dropped") == 1);
  CHECK(t.state("a") == AgentState::idle);
  CHECK(agent.send("next"));
  t.settle();
  CHECK(t.seen.count("started a 1") == 1);
}

TEST_CASE("an edited message keeps its deadline and its callbacks", "[tree][messages][deadline]") {
  Waiting t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const TimePoint deadline = t.clock.now() + 10s;
  const MessageId first = agent.send("one", t.until(10s)).id, second = agent.send("two", t.until(11s)).id,
                  third = agent.send("three", t.until(20s)).id;
  CHECK(agent.edit_queued(first, {.text = "ONE"}));  // before the loop has started its timer
  t.settle();
  CHECK(agent.edit_queued(second, {.text = "TWO"}));
  CHECK(agent.edit_queued(third, {.text = "THREE"}));
  CHECK(agent.queued()->at(0).deadline == deadline);
  CHECK(agent.queued()->at(2).deadline == deadline + 10s);
  t.advance(10s);
  CHECK(t.was_dropped());
  CHECK(t.seen.count("dropped a ONE deadline_exceeded") == 1);
  t.advance(1s);
  CHECK(t.ends.size() == 2);
  CHECK(t.seen.count("dropped a TWO deadline_exceeded") == 1);
  t.llm->answer("a", "done");
  t.settle();
  CHECK(t.llm->find("a")->request.messages.back().content() == "THREE");
  CHECK(t.llm->find("a")->request.deadline == deadline + 10s);
  t.advance(9s);
  REQUIRE(t.ends.size() == 3);
  CHECK(t.ends[2].result->error.code == Errc::deadline_exceeded);
}

TEST_CASE("the timer of a deadline ends with the message", "[tree][messages][deadline][G13]") {
  Waiting t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const MessageId id = agent.send("one", t.until(10s)).id;
  t.settle();
  REQUIRE(t.runtime->next_deadline());
  SECTION("removed") {
    CHECK(agent.remove_queued(id));
  }
  SECTION("cleared") {
    CHECK(agent.drop_queue());
  }
  SECTION("interrupted") {
    CHECK(agent.interrupt({.message = id}).accepted());
    t.settle();
  }
  SECTION("stopped") {
    CHECK(agent.stop().took_effect());
    t.settle();
  }
  SECTION("deleted") {
    CHECK(agent.terminate().took_effect());
    t.settle();
  }
  SECTION("its turn is over") {
    t.llm->answer("a", "first");
    t.settle();
    t.llm->answer("a", "second");
    t.settle();
  }
  SECTION("the tree is destroyed") {
    t.seen.unwatch();
    t.tree.reset();
    t.settle();
  }
  CHECK_FALSE(t.runtime->next_deadline());
  const std::size_t ends = t.ends.size();
  t.advance(1min);
  CHECK(t.ends.size() == ends);
  CHECK(t.seen.count("dropped a one deadline_exceeded") == 0);
}

TEST_CASE("a message that is gone when the loop reads its deadline gets no timer",
          "[tree][messages][deadline]") {
  Waiting t;
  const Agent agent = t.root("a");
  t.ask(agent);
  const MessageId id = agent.send("one", t.until(10s)).id;
  SECTION("it was removed") {
    CHECK(agent.remove_queued(id));
    t.settle();
    CHECK_FALSE(t.runtime->next_deadline());
  }
  SECTION("another message has its place in memory") {
    CHECK(agent.remove_queued(id));
    CHECK(agent.send("two"));
    t.settle();
    CHECK_FALSE(t.runtime->next_deadline());
    t.advance(1min);
    CHECK(texts(agent) == std::vector<std::string>{"two"});
  }
  SECTION("its tree is destroyed") {
    t.seen.unwatch();
    t.tree.reset();
    t.settle();
    CHECK_FALSE(t.runtime->next_deadline());
  }
}

TEST_CASE("the end of a message at its deadline may destroy the tree", "[tree][messages][deadline][G16]") {
  Waiting t;
  t.check_at_end = false;
  const Agent agent = t.root("a");
  t.ask(agent);
  CHECK(agent.send("one",
                   {.on_end = [&](const MessageEnd&) { t.tree.reset(); }, .deadline = t.clock.now() + 10s}));
  t.advance(10s);
  CHECK_FALSE(t.tree);
}

TEST_CASE("a message with a deadline that is sent without memory has one end",
          "[tree][messages][deadline][G12]") {
  for (std::size_t at = 1; at < 16; ++at) {
    INFO(at);
    Waiting t;
    const Agent agent = t.root("a");
    t.ask(agent);
    SendResult sent;
    SendOptions options = t.until(10s);
    {
      const FailingAllocation failing(at, 1);
      sent = agent.send("one", std::move(options));
      t.poll();
    }
    t.advance(10s);
    t.llm->answer("a", "done");
    t.settle();
    CHECK(t.ends.size() == (sent ? 1U : 0U));
    if (sent) CHECK(t.was_dropped());  // at its deadline, or when it is taken
  }
}
