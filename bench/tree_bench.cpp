// The tree without a network: closing gates, settling, memory, messages.
//
//   tree_bench stop [agents]     stop_gate_1m and settle_1m, trees of several shapes and memory orders
//   tree_bench memory [agents]   idle_bytes and create
//   tree_bench send              send: one thread, and from another thread
//   tree_bench fan [agents]      send_fan
//   tree_bench admission         admission
#include "core/agent_access.hpp"
#include "core/gates.hpp"
#include "harness.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/runtime.hpp>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace agentcore;

constexpr std::size_t fan_out = 8;

struct Forest {
  Runtime runtime{{.poll_budget = std::chrono::seconds(100)}};
  AgentTree tree{runtime};
  std::vector<Agent> agents;
};

// A tree in which agent i hangs below agent (i - 1) / 8. In random order the slots of a parent and its
// children have nothing to do with each other: each new agent gets a random parent that still has room.
void grow(Forest& forest, std::size_t count, const SharedAgentSpec& spec, bool random_order) {
  std::mt19937_64 random(42);
  auto& agents = forest.agents;
  agents.reserve(count);
  agents.push_back(forest.tree.create(spec).value());
  std::vector<std::uint32_t> room{0};
  std::vector<std::uint8_t> children(count, 0);
  for (std::size_t i = 1; i < count; ++i) {
    std::size_t parent = (i - 1) / fan_out;
    if (random_order) {
      const std::size_t pick = random() % room.size();
      parent = room[pick];
      if (++children[parent] == fan_out) {
        room[pick] = room.back();
        room.pop_back();
      }
      room.push_back(static_cast<std::uint32_t>(i));
    }
    agents.push_back(agents[parent].create_child(spec).value());
  }
}

void settle(Forest& forest) {
  while (forest.tree.busy()) forest.runtime.poll();
}

void measure_stop(std::string_view shape, std::size_t count, bool random_order, bool foreign) {
  Forest forest;
  grow(forest, count, std::make_shared<const AgentSpec>(), random_order);
  std::size_t settled = 0;
  auto events = forest.tree.on_event([&](const Event& event) { settled += event.get<Settled>() != nullptr; });
  std::uint64_t gate = 0;
  std::uint64_t begin = 0;
  const auto stop = [&] {
    begin = bench::now();
    const StopResult result = forest.agents.front().stop();
    gate = bench::now() - begin;
    if (!result.stopped) std::abort();
  };
  if (foreign)
    std::thread(stop).join();
  else
    stop();
  if (forest.agents.back().send("late").accepted) std::abort();
  const std::uint64_t walk = bench::now();
  settle(forest);
  const std::uint64_t end = bench::now();
  if (settled != count) std::abort();
  const std::string variant = std::string(shape) + (random_order ? ", random order" : "") +
                              (foreign ? ", other thread" : "") + ", " + std::to_string(count);
  bench::report("stop_gate_1m", variant, static_cast<double>(gate) / 1e3, "us");
  if (count > 1000) {
    const auto whole = static_cast<double>(gate) + static_cast<double>(end - walk);
    bench::report("settle_1m", variant, whole / static_cast<double>(count), "ns/agent");
  }
}

void measure_memory(std::size_t count) {
  Forest forest;
  const auto spec = std::make_shared<const AgentSpec>();
  const Agent root = forest.tree.create(spec).value();
  const std::size_t before = bench::resident();
  const std::uint64_t begin = bench::now();
  for (std::size_t i = 0; i < count; ++i)
    if (!root.create_child(spec)) std::abort();
  const std::uint64_t end = bench::now();
  const auto n = static_cast<double>(count);
  bench::report("idle_bytes", std::to_string(count), static_cast<double>(bench::resident() - before) / n,
                "bytes");
  bench::report("create", std::to_string(count), static_cast<double>(end - begin) / n, "ns");
}

SharedAgentSpec counting_spec(std::size_t& handled) {
  AgentSpec spec;
  spec.handler = [&handled](const Agent&, const Message& message) { handled += message.text.size(); };
  return std::make_shared<const AgentSpec>(std::move(spec));
}

void measure_send(bool foreign) {
  constexpr std::size_t messages = 2'000'000;
  constexpr std::size_t window = 1024;  // as the channel that it is compared with
  std::size_t handled = 0;
  Forest forest;
  const Agent agent = forest.tree.create(counting_spec(handled)).value();
  const std::uint64_t begin = bench::now();
  if (foreign) {
    std::jthread sender([&] {
      for (std::size_t i = 0; i < messages; ++i)
        while (!agent.send("x").accepted) std::this_thread::yield();
    });
    while (handled < messages) forest.runtime.poll();
  } else {
    for (std::size_t i = 0; i < messages; ++i) {
      if (!agent.send("x").accepted) std::abort();
      if (agent.queue_length() + 24 >= window) forest.runtime.poll();
    }
    while (handled < messages) forest.runtime.poll();
  }
  const std::uint64_t end = bench::now();
  bench::report("send", foreign ? "other thread" : "one thread", static_cast<double>(end - begin) / messages,
                "ns");
}

void measure_fan(std::size_t count) {
  std::size_t handled = 0;
  Forest forest;
  grow(forest, count, counting_spec(handled), false);
  const auto round = [&] {
    const std::uint64_t begin = bench::now();
    for (std::size_t i = 0; i < count; ++i) {
      if (!forest.agents[i].send("x").accepted) std::abort();
      if ((i & 1023) == 1023) forest.runtime.poll();
    }
    while (forest.tree.busy()) forest.runtime.poll();
    return static_cast<double>(bench::now() - begin) / static_cast<double>(count);
  };
  round();
  const double value = round();
  if (handled != 2 * count) std::abort();
  bench::report("send_fan", std::to_string(count), value, "ns");
}

// The look-up that every action of an agent asks first, at depth 7.
void measure_admission() {
  core::Node chain[7];
  for (std::size_t i = 0; i < std::size(chain); ++i) {
    chain[i].word = core::Word{1, 0, core::Gate::open, AgentState::idle}.raw();
    if (i) chain[i].parent = &chain[i - 1];
  }
  constexpr std::size_t rounds = 20'000'000;
  std::size_t open = 0;
  const std::uint64_t begin = bench::now();
  for (std::size_t i = 0; i < rounds; ++i) {
    open += core::admits(chain[6], 1, 0);
    bench::keep(open);
  }
  bench::report("admission", "depth 7, hot", static_cast<double>(bench::now() - begin) / rounds, "ns");
  std::stop_source source;
  const std::stop_token token = source.get_token();
  const std::uint64_t begin_token = bench::now();
  for (std::size_t i = 0; i < rounds; ++i) {
    open += token.stop_requested();
    bench::keep(open);
  }
  bench::report("admission", "peer: stop_token poll",
                static_cast<double>(bench::now() - begin_token) / rounds, "ns");
}

void measure_stops(std::size_t count) {
  measure_stop("tree of 8", 10, false, false);
  measure_stop("tree of 8", count, false, false);
  measure_stop("tree of 8", count, true, false);
  measure_stop("tree of 8", count, false, true);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  if (what == "stop") return measure_stops(count), 0;
  if (what == "memory") return measure_memory(count), 0;
  if (what == "send") return measure_send(false), measure_send(true), 0;
  if (what == "fan") return measure_fan(count), 0;
  if (what == "admission") return measure_admission(), 0;
  std::fprintf(stderr, "usage: tree_bench stop|memory|send|fan|admission [agents]\n");
  return 2;
}
