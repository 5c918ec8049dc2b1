// Handles that are used while and after their tree is destroyed, on real threads.
#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/team.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

const int rounds = agentcore::test::amount(2000, 200);

// Every verb that a foreign thread may call, once. True when each says that there is no such agent.
bool all_say_not_found(const Agent& agent) {
  const Errc none = Errc::agent_not_found;
  bool all = agent.send("x").reason == none;
  all = agent.abort().reason == none && all;
  all = agent.stop().reason == none && all;
  all = agent.resume().reason == none && all;
  all = agent.terminate().reason == none && all;
  all = !agent.state().has_value() && all;
  all = agent.id().empty() && all;
  return !agent.queue_length().has_value() && all;
}

}  // namespace

TEST_CASE("handles outlive their tree whichever thread uses or drops them last", "[stop][race][G12][G13]") {
  FakeClient client;
  Runtime runtime;
  Team team(3);
  std::atomic<int> found_after{0};
  for (int round = 0; round < rounds; ++round) {
    auto tree = std::make_unique<AgentTree>(runtime, TreeOptions{.llm = &client});
    std::vector<Agent> agents{tree->create().value()};
    for (std::size_t i = 1; i < 6; ++i) agents.push_back(agents[(i - 1) / 2].create_child().value());
    for (const Agent& agent : agents) static_cast<void>(agent.send("question"));
    runtime.poll();
    std::atomic<bool> destroyed{false};
    int polls = 0;
    std::vector<std::vector<Agent>> copies(3, agents);
    team.run(
        [&](int member) {
          std::vector<Agent>& mine = copies[static_cast<std::size_t>(member)];
          Dice dice(static_cast<std::uint64_t>(round * 4 + member));
          for (int i = 0; i < 40 && !destroyed.load(); ++i) {
            const Agent copy = mine[dice.below(mine.size())];
            static_cast<void>(copy.send("x"));
            static_cast<void>(copy.state());
            static_cast<void>(copy.id());
            if (dice.below(4) == 0) static_cast<void>(copy.stop());
            if (dice.below(8) == 0) static_cast<void>(copy.terminate());
            static_cast<void>(copy.abort());
            static_cast<void>(copy.resume());
          }
          while (!destroyed.load()) std::this_thread::yield();
          for (const Agent& agent : mine) found_after += !all_say_not_found(agent);
          mine.clear();
        },
        [&] {
          runtime.poll();
          client.answer_all();
          if (++polls != 1 + round % 4) return;
          agents.clear();
          tree.reset();
          destroyed = true;
        });
    client.cancel_stopped();
    client.forget_ended();
  }
  CHECK(found_after == 0);
}

TEST_CASE("a callback destroys the tree while other threads call its verbs", "[stop][race][G4][Q3]") {
  FakeClient client;
  Runtime runtime;
  Team team(2);
  int called_after_end = 0;
  for (int round = 0; round < rounds; ++round) {
    auto tree = std::make_unique<AgentTree>(runtime, TreeOptions{.llm = &client});
    const Agent root = tree->create().value();
    const Agent child = root.create_child().value();
    std::atomic<bool> destroyed{false};
    int countdown = 1 + round % 12;
    const auto tick = [&] {
      called_after_end += tree == nullptr;
      if (--countdown != 0) return;
      tree.reset();
      destroyed = true;
    };
    const auto states = tree->on<StateChanged>([&](const StateChanged&) { tick(); });
    const auto events = tree->on_event([&](const Event&) { tick(); });
    team.run(
        [&](int member) {
          const Agent agent = member == 0 ? root : child;
          for (int i = 0; i < 60 && !destroyed.load(); ++i) {
            static_cast<void>(agent.send("x"));
            static_cast<void>(agent.stop());
            static_cast<void>(agent.resume());
            static_cast<void>(agent.abort());
          }
        },
        [&] {
          runtime.poll();
          client.answer_all();
          if (!destroyed && !runtime.poll() && countdown > 0) static_cast<void>(root.send("y"));
        });
    client.cancel_stopped();
    client.forget_ended();
  }
  CHECK(called_after_end == 0);
}

TEST_CASE("verbs return runtime_gone once another thread destroyed the Runtime", "[stop][race][G12][Q3]") {
  FakeClient client;
  Team team(3);
  std::atomic<int> wrong{0};
  for (int round = 0; round < rounds / 4; ++round) {
    auto runtime = std::make_unique<Runtime>();
    AgentTree tree(*runtime, {.llm = &client});
    const Agent root = *tree.create();
    const Agent child = *root.create_child();
    static_cast<void>(root.send("question"));
    runtime->poll();
    std::atomic<bool> destroyed{false};
    int polls = 0;
    team.run(
        [&](int member) {
          const Agent agent = member == 0 ? root : child;
          for (int i = 0; i < 60 || !destroyed.load(); ++i) {
            const bool after = destroyed.load();
            const Errc said[] = {agent.send("x").reason, agent.stop().reason, agent.resume().reason,
                                 agent.abort().reason,
                                 agent.state().has_value() ? Errc::none : agent.state().error().code};
            for (const Errc reason : said) wrong += after && reason != Errc::runtime_gone;
          }
        },
        [&] {
          if (!runtime) return;
          runtime->poll();
          client.answer_all();
          if (++polls != 1 + round % 4) return;
          runtime.reset();
          destroyed = true;
        });
    client.cancel_stopped();
    client.forget_ended();
  }
  CHECK(wrong == 0);
}
