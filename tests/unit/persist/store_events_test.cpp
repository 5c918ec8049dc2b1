// What an observer of the events of a store may do.
#include "persist/acknowledgement.hpp"
#include "support/catch.hpp"
#include "support/store/guarded_store.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/manual_clock.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;

namespace {

// A tree on a store that has two agents, one of them with a message that waits.
struct Restarted {
  Restarted() {
    test::Life before(store, {.durability = Durability::each_message});
    const Agent parent = before.create("parent");
    const Agent child = parent.create_child({.id = "child"}).value();
    REQUIRE(child.pause().took_effect());
    REQUIRE(child.send("waits"));
    before.runtime.poll();
  }

  // Restores, lets the child work, and stops it. `act` is called in the first event of that kind.
  template <EventType T>
  bool run(const std::function<void(Restarted&, const Agent&)>& act) {
    runtime.emplace();
    llm = std::make_unique<testing::ScriptedClient>(*runtime);
    tree = std::make_unique<AgentTree>(*runtime, TreeOptions{.llm = llm.get()});
    bool done = false;
    const auto events = tree->on<T>([&](const T& event) {
      if (std::exchange(done, true)) {
        CHECK(tree);  // nothing follows the end of the tree
        return;
      }
      act(*this, event.agent);
    });
    static_cast<void>(tree->restore(&store, {.durability = Durability::each_message}));
    const auto with = [&](const char* id, const std::function<void(const Agent&)>& use) {
      if (!tree) return;
      if (const auto agent = tree->find(id)) use(*agent);
    };
    with("child", [](const Agent& agent) {
      static_cast<void>(agent.unpause());
      static_cast<void>(agent.release_queue());
    });
    poll();
    with("parent", [](const Agent& agent) { static_cast<void>(agent.stop()); });
    poll();
    return done;
  }
  void poll() {
    for (int i = 0; i < 10 && runtime; ++i) runtime->poll();
  }

  MemoryStore store;
  std::optional<Runtime> runtime;
  std::unique_ptr<testing::ScriptedClient> llm;
  std::unique_ptr<AgentTree> tree;
};

// An executor that keeps its jobs until the test runs them.
class KeptJobs final : public Executor {
 public:
  void submit(std::function<void()> job) override { jobs.push_back(std::move(job)); }
  void run_all() {
    for (const auto& job : std::exchange(jobs, {})) job();
  }
  std::vector<std::function<void()>> jobs;
};

using Act = std::function<void(Restarted&, const Agent&)>;

void at_each_event_of_a_store(const Act& act) {
  CHECK(Restarted().run<AgentRestored>(act));
  CHECK(Restarted().run<StopPersisted>(act));
  CHECK(Restarted().run<MessagePersisted>(act));
}

}  // namespace

TEST_CASE("an observer of a store's events may destroy the tree", "[persist][events][G16]") {
  at_each_event_of_a_store([](Restarted& here, const Agent&) { here.tree.reset(); });
}

TEST_CASE("an observer of a store's events may stop, delete, create and send", "[persist][events]") {
  at_each_event_of_a_store([](Restarted&, const Agent& agent) { static_cast<void>(agent.stop()); });
  at_each_event_of_a_store([](Restarted&, const Agent& agent) { static_cast<void>(agent.terminate()); });
  at_each_event_of_a_store([](Restarted& here, const Agent& agent) {
    static_cast<void>(agent.create_child());
    static_cast<void>(agent.send("x"));
    static_cast<void>(here.tree->create({.id = "new"}));
    CHECK(here.tree->flush());
  });
}

TEST_CASE("an exception of an observer of a store's events is logged, and the others follow",
          "[persist][events][G16]") {
  at_each_event_of_a_store([](Restarted&, const Agent&) { throw std::runtime_error("thrown on purpose"); });
}

TEST_CASE("StopPersisted of stop_all() has no agent", "[persist][events][stop]") {
  MemoryStore store;
  test::Life life(store);
  const Agent agent = life.create("a");
  life.create("b");
  life.runtime.poll();
  std::vector<Agent> of_agent;
  const Subscription heard =
      agent.on<StopPersisted>([&](const StopPersisted& event) { of_agent.push_back(event.agent); });
  REQUIRE(agent.stop().took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.tree->stop_all().took_effect());
  life.runtime.run_until_idle();
  REQUIRE(life.stops.size() == 2);
  CHECK(life.stops[0].agent == agent);
  CHECK(life.stops[1].agent == Agent{});
  CHECK(life.stops[1].agent_id.empty());
  CHECK(of_agent.size() == 1);
}

TEST_CASE("a message that was dropped or handled while its commit ran is not said to be stored",
          "[persist][events][executor]") {
  const bool dropped = GENERATE(false, true);
  CAPTURE(dropped);
  MemoryStore store;
  KeptJobs executor;
  test::Life life(store, {.durability = Durability::each_message, .executor = &executor});
  const Agent agent = life.create("a");
  const auto poll = [&] {
    for (int i = 0; i < 8; ++i) life.runtime.poll();
  };
  const auto commit = [&] {
    for (int i = 0; i < 4; ++i) {
      poll();
      executor.run_all();
    }
    poll();
  };
  commit();
  REQUIRE(agent.pause().took_effect());
  const MessageId message = agent.send("x").id;
  const MessageId other = agent.send("y").id;
  poll();
  REQUIRE(executor.jobs.size() == 1);  // the commit has the messages, and runs
  if (dropped)
    REQUIRE(agent.remove_queued(message));
  else
    REQUIRE(agent.unpause().took_effect());
  poll();
  CHECK(life.messages.empty());
  commit();
  std::size_t stored = 0, ended = 0;
  for (const MessagePersisted& event : life.messages) {
    if (event.message != message) continue;
    (event.ended ? ended : stored) += 1;
  }
  CHECK(stored == 0);
  CHECK(ended == (dropped ? 0 : 1));
  std::size_t of_other = 0;
  for (const MessagePersisted& event : life.messages)
    of_other += event.message == other && !event.ended ? 1 : 0;
  if (dropped) CHECK(of_other == 1);
  CHECK(life.dropped.size() == (dropped ? 1 : 0));
}

TEST_CASE("after AgentDeleted only the store's events follow", "[persist][events][delete]") {
  MemoryStore store;
  test::Life life(store, {.durability = Durability::each_message});
  const Agent agent = life.create("a");
  REQUIRE(agent.send("x"));
  life.runtime.run_until_idle();
  std::vector<std::string> after;
  bool deleted = false;
  const Subscription all = life.tree->on_event([&](const Event& event) {
    if (deleted) {
      CHECK((event.get<StopPersisted>() || event.get<MessagePersisted>()));
      after.emplace_back(event.get<StopPersisted>() ? "stop" : "message");
    }
    deleted = deleted || event.get<AgentDeleted>() != nullptr;
  });
  REQUIRE(agent.terminate().took_effect());
  life.runtime.run_until_idle();
  CHECK(after == std::vector<std::string>{"stop"});
}

TEST_CASE("acknowledgements do not pile up while a store fails", "[persist][events][failure][G15]") {
  test::GuardedStore store;
  std::string left_out;
  testing::ManualClock clock;  // no retry comes in between: a message that waits then would have two
  test::Life life(store, {}, {}, {.clock = &clock, .log = [&](const LogRecord& record) {
                                    if (record.message == "StopPersisted and MessagePersisted were left out")
                                      left_out = record.fields[0].value;
                                  }});
  AgentSpec spec{.handler = [](const Agent&, const Message&) {}, .code = {.handler = "handler"}};
  spec.limits.mailbox = 60'000;
  const Agent agent = life.create("a", spec);
  REQUIRE(life.tree->flush());
  store.failure = {Errc::store_failed, "no answer"};
  const Agent other = life.create("b");
  life.runtime.poll();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 50'010; ++i) REQUIRE(agent.send("x").accepted());
    while (agent.queue_length().value() > 0) life.runtime.poll();
  }
  life.runtime.poll();
  life.messages.clear();
  store.failure = {};
  REQUIRE(life.tree->flush());
  CHECK(life.messages.size() == 100'000);
  CHECK(left_out == "20");
  // It goes on as before.
  life.messages.clear();
  REQUIRE(agent.send("x").accepted());
  life.runtime.run_until_idle();
  REQUIRE(life.tree->flush());
  CHECK(life.messages.size() == 1);
}

TEST_CASE("the list of acknowledgements is bounded, but not for what a turn waits for",
          "[persist][events][failure][intent]") {
  using detail::persist::Acknowledgements;
  using Kept = detail::persist::Acknowledgement;
  using What = Kept::What;
  Acknowledgements list;
  for (std::size_t i = 0; i < Acknowledgements::most + 3; ++i) list.add({What::message, 1, MessageId{i}, {}});
  CHECK(list.list().size() == Acknowledgements::most);
  CHECK(list.left_out() == 3);
  list.add({What::intents, 1, {}, {}});
  CHECK(list.list().size() == Acknowledgements::most + 1);
  CHECK(list.left_out() == 3);
  // Two lists that are merged after a failure: what both have left out is not forgotten.
  Acknowledgements merged;
  merged.add_all(list, [](const Kept& one) { return one.what == What::intents; });
  CHECK(merged.list().size() == 1);
  CHECK(merged.left_out() == 3);
  merged.add_all(list, [](const Kept&) { return true; });
  CHECK(merged.list().size() == Acknowledgements::most + 1);
  CHECK(merged.left_out() == 7);  // one more message did not fit
}
