// What an observer of the events of a store may do.
#include "support/catch.hpp"
#include "support/store/life.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

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
