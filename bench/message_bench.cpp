// Messages and admissions, without a network.
//
//   message_bench send           send: from the loop thread, and from another one
//   message_bench fan [agents]   send_fan
//   message_bench admission      admission
#include "core/gates.hpp"
#include "forest.hpp"
#include "harness.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace {

using namespace bench;

constexpr std::size_t messages = 2'000'000;

SharedAgentSpec counting_spec(std::size_t& handled) {
  AgentSpec spec;
  spec.handler = [&handled](const Agent&, const Message& message) { handled += message.text.size(); };
  return std::make_shared<const AgentSpec>(std::move(spec));
}

// CPU time, since one thread does it all.
void measure_send_on_one_thread() {
  constexpr std::size_t window = 1000;  // about the length of the channel in the comparison
  std::size_t handled = 0;
  Forest forest;
  const Agent agent = forest.tree.create(counting_spec(handled)).value();
  const std::uint64_t begin = cpu();
  for (std::size_t i = 0; i < messages; ++i) {
    if (!agent.send("x").accepted()) std::abort();
    if (i % window == window - 1) forest.settle();
  }
  forest.settle();
  if (handled != messages) std::abort();
  report("send", "one thread", static_cast<double>(cpu() - begin) / messages, "ns");
}

// Wall time. The mailbox is long, so that neither thread often waits for the other to get a processor.
void measure_send_from_another_thread() {
  std::size_t handled = 0;
  Forest forest;
  AgentSpec spec = *counting_spec(handled);
  spec.limits.mailbox = 65'000;
  const Agent agent = forest.tree.create(std::move(spec)).value();
  const std::uint64_t begin = now();
  std::jthread sender([&] {
    for (std::size_t i = 0; i < messages; ++i)
      while (!agent.send("x").accepted()) std::this_thread::yield();
  });
  while (handled < messages) forest.runtime.poll();
  report("send", "other thread", static_cast<double>(now() - begin) / messages, "ns");
}

void measure_fan(std::size_t count) {
  std::size_t handled = 0;
  Forest forest;
  forest.grow(count, counting_spec(handled), Shape::tree);
  const auto round = [&] {
    const std::uint64_t begin = cpu();
    for (std::size_t i = 0; i < count; ++i) {
      if (!forest.agents[i].send("x").accepted()) std::abort();
      if (i % 1024 == 1023) forest.runtime.poll();
    }
    forest.settle();
    return static_cast<double>(cpu() - begin) / static_cast<double>(count);
  };
  round();
  report("send_fan", std::to_string(count), median_of(3, round), "ns");
  if (handled != 4 * count) std::abort();
}

template <typename Question>
double time_question(Question question) {
  constexpr std::size_t rounds = 10'000'000;
  std::size_t yes = 0;
  const std::uint64_t begin = cpu();
  for (std::size_t i = 0; i < rounds; ++i) {
    yes += question();
    keep(yes);
  }
  return static_cast<double>(cpu() - begin) / rounds;
}

// The look-up that every action of an agent does first, at depth 7.
void measure_admission() {
  detail::core::Node chain[7];
  for (std::size_t i = 0; i < std::size(chain); ++i) {
    chain[i].packed = detail::core::PackedState{1, 0, detail::core::Gate::open, AgentState::idle}.raw();
    if (i) chain[i].parent = &chain[i - 1];
  }
  std::stop_source source;
  const std::stop_token token = source.get_token();
  const auto ours = [&] { return time_question([&] { return detail::core::admits(chain[6], 1, 0); }); };
  const auto peer = [&] { return time_question([&] { return token.stop_requested(); }); };
  report("admission", "depth 7, hot", median_of(5, ours), "ns");
  report_peer("admission", "depth 7, hot", median_of(5, peer), "ns", "std::stop_token poll");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  if (what == "send") return measure_send_on_one_thread(), measure_send_from_another_thread(), 0;
  if (what == "fan") return measure_fan(count), 0;
  if (what == "admission") return measure_admission(), 0;
  std::fprintf(stderr, "usage: message_bench send|fan|admission [agents]\n");
  return 2;
}
