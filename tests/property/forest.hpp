// Random trees in random states, for properties that hold for any of them.
#pragma once

#include "support/tree_fixture.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <rapidcheck.h>

namespace agentcore::test {

// How one agent is brought up.
struct Plant {
  int parent = 0;  // of those before it, counted round; a root when it comes out at its own number
  enum Mood { idle, waiting, talking, aborted, stopped } mood = idle;
  int queued = 0;
  OnStop on_stop = OnStop::post;
};

inline std::ostream& operator<<(std::ostream& out, const Plant& plant) {
  static const char* const moods[] = {"idle", "waiting", "talking", "aborted", "stopped"};
  static const char* const ways[] = {"", ", ends at once", ", deaf"};
  return out << "{parent " << plant.parent << ", " << moods[plant.mood] << ", " << plant.queued << " queued"
             << ways[static_cast<int>(plant.on_stop)] << "}";
}

// A tree grown from plants; never empty. Agents are called "n0", "n1", ...
struct Forest {
  explicit Forest(std::vector<Plant> plants) {
    t.check_at_end = false;
    if (plants.empty()) plants.push_back({});
    for (const Plant& plant : plants) grow(plant);
    t.settle();
    t.seen.clear();
  }

  const Agent& pick(int number) const { return agents[static_cast<std::size_t>(number) % agents.size()]; }
  // True when agents[i] is `root` or below it.
  bool within(std::size_t i, const Agent& root) const {
    for (Agent up = agents[i]; up.exists(); up = up.parent().value_or(Agent{}))
      if (up == root) return true;
    return false;
  }
  std::vector<Agent> subtree(const Agent& root) const {
    std::vector<Agent> found;
    for (std::size_t i = 0; i < agents.size(); ++i)
      if (within(i, root)) found.push_back(agents[i]);
    return found;
  }
  std::vector<Agent> others(const Agent& root) const {
    std::vector<Agent> found;
    for (std::size_t i = 0; i < agents.size(); ++i)
      if (!within(i, root)) found.push_back(agents[i]);
    return found;
  }
  // Everything that can still be said by the models is said, and the grace runs out.
  void finish() {
    t.settle();
    t.advance(std::chrono::seconds(6));
  }

  TreeFixture t;
  std::vector<Agent> agents;

 private:
  void grow(const Plant& plant) {
    const std::size_t number = agents.size();
    const std::size_t parent = static_cast<std::size_t>(plant.parent) % (number + 1);
    const std::string id = "n" + std::to_string(number);
    const bool below = parent < number && can_process(agents[parent].state().value());
    agents.push_back(below ? t.child(agents[parent], id) : t.root(id));
    const Agent& agent = agents.back();
    t.llm->on_stop = plant.on_stop;
    if (plant.mood == Plant::waiting || plant.mood == Plant::talking || plant.mood == Plant::aborted)
      t.ask(agent, "first");
    if (plant.mood == Plant::talking) t.llm->delta(id, "partial");
    if (plant.mood == Plant::aborted) static_cast<void>(agent.abort());
    for (int i = 0; i < plant.queued; ++i) static_cast<void>(agent.send("queued"));
    if (plant.mood == Plant::stopped) static_cast<void>(agent.stop({.cascade = false}));
  }
};

}  // namespace agentcore::test

namespace rc {

template <>
struct Arbitrary<agentcore::test::Plant> {
  static Gen<agentcore::test::Plant> arbitrary() {
    using agentcore::test::OnStop;
    using agentcore::test::Plant;
    return gen::build<Plant>(
        gen::set(&Plant::parent, gen::inRange(0, 20)),
        gen::set(&Plant::mood,
                 gen::element(Plant::idle, Plant::waiting, Plant::talking, Plant::aborted, Plant::stopped)),
        gen::set(&Plant::queued, gen::inRange(0, 4)),
        gen::set(&Plant::on_stop, gen::element(OnStop::post, OnStop::at_once, OnStop::deaf)));
  }
};

}  // namespace rc
