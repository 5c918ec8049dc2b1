// Large trees without a network: closing gates, settling, memory.
//
//   tree_bench stop [agents]        stop_gate_1m and settle_1m, for several shapes
//   tree_bench delete [agents]      terminate_gate_1m and terminate_1m, for two memory orders
//   tree_bench memory [agents]      idle_bytes and create
//   tree_bench questions [agents]   settle_asking: agents in tool calls, without and with a question each
#include "forest.hpp"
#include "harness.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/tool_registry.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace bench;

// A thread that makes the calls that are to come from another thread, one at a time.
class OtherThread {
 public:
  void call(std::function<void()> function) {
    function_ = std::move(function);
    set(1);
    busy_.wait(1);
  }
  ~OtherThread() { set(2); }

 private:
  void set(int state) {
    busy_ = state;
    busy_.notify_all();
  }
  void run() {
    for (;;) {
      busy_.wait(0);
      if (busy_ == 2) return;
      function_();
      set(0);
    }
  }

  std::function<void()> function_;
  std::atomic<int> busy_ = 0;
  std::jthread thread_{[this] { run(); }};
};

struct StopCase {
  std::string_view name;
  Shape shape;
  bool other_thread;
};

class StopMeter {
 public:
  StopMeter(const StopCase& what, std::size_t count) : what_(what), count_(count) {
    forest_.grow(count, std::make_shared<const AgentSpec>(), what.shape);
  }

  // Stops the root, lets all settle, resumes the root, and again. The first round is a warm-up.
  void run(std::size_t rounds) {
    round();
    gates_.clear();
    wholes_.clear();
    for (std::size_t i = 0; i < rounds; ++i) round();
    const std::string variant = std::string(what_.name) + ", " + std::to_string(count_);
    report("stop_gate_1m", variant, quantile(gates_, 0.5), "us");
    if (count_ > 1000) report("settle_1m", variant, quantile(wholes_, 0.5), "ns/agent");
  }

 private:
  void stop() {
    const std::uint64_t begin = now();
    const VerbResult result = forest_.agents.front().stop();
    gate_ = now() - begin;
    if (!result.took_effect()) std::abort();
  }

  void round() {
    settled_ = 0;
    if (what_.other_thread)
      other_.call([this] { stop(); });
    else
      stop();
    if (forest_.agents.back().send("late").accepted()) std::abort();
    const std::uint64_t begin = cpu();  // excludes the time that other programs take of this processor
    forest_.settle();
    const std::uint64_t walk = cpu() - begin;
    if (settled_ != count_) std::abort();
    gates_.push_back(static_cast<double>(gate_) / 1e3);
    wholes_.push_back(static_cast<double>(gate_ + walk) / static_cast<double>(count_));
    if (!forest_.agents.front().resume().took_effect()) std::abort();
    forest_.settle();
    if (forest_.agents.back().state().value() != AgentState::idle) std::abort();
  }

  const StopCase what_;
  const std::size_t count_;
  Forest forest_;
  OtherThread other_;
  std::size_t settled_ = 0;
  Subscription events_ =
      forest_.tree.on_event([this](const Event& event) { settled_ += event.get<Settled>() != nullptr; });
  std::uint64_t gate_ = 0;
  std::vector<double> gates_;
  std::vector<double> wholes_;
};

void measure_stops(std::size_t count) {
  constexpr StopCase cases[]{
      {"tree of 8", Shape::tree, false},
      {"tree of 8, random order", Shape::random_order, false},
      {"star", Shape::star, false},
      {"chains of 64", Shape::chains, false},
      {"tree of 8, other thread", Shape::tree, true},
  };
  StopMeter(cases[0], 10).run(51);
  StopMeter(cases[4], 10).run(51);
  for (const StopCase& what : cases) StopMeter(what, count).run(7);
}

// Deletes the root of a tree of `count` agents, five times. An agent without children is deleted before: the
// first call is a warm-up.
void measure_delete(const std::string& name, Shape shape, std::size_t count) {
  const auto spec = std::make_shared<const AgentSpec>();
  std::vector<double> gates;
  std::vector<double> wholes;
  for (int round = 0; round < 5; ++round) {
    Forest forest;
    if (!forest.tree.create(spec).value().terminate().took_effect()) std::abort();
    forest.settle();
    forest.grow(count, spec, shape);
    std::size_t gone = 0;
    const Subscription events =
        forest.tree.on_event([&](const Event& event) { gone += event.get<AgentDeleted>() != nullptr; });
    const std::uint64_t begin = now();
    const bool took_effect = forest.agents.front().terminate().took_effect();
    const std::uint64_t gate = now() - begin;
    const std::uint64_t walk_begin = cpu();  // excludes the time that other programs take of this processor
    forest.settle();
    const std::uint64_t walk = cpu() - walk_begin;
    if (!took_effect || gone != count || forest.tree.size() != 0) std::abort();
    gates.push_back(static_cast<double>(gate) / 1e3);
    wholes.push_back(static_cast<double>(gate + walk) / static_cast<double>(count));
  }
  const std::string variant = name + ", " + std::to_string(count);
  report("terminate_gate_1m", variant, quantile(gates, 0.5), "us");
  report("terminate_1m", variant, quantile(wholes, 0.5), "ns/agent");
}

void measure_deletes(std::size_t count) {
  measure_delete("tree of 8", Shape::tree, count);
  measure_delete("tree of 8, random order", Shape::random_order, count);
}

void measure_memory(std::size_t count) {
  Forest forest;
  const auto spec = std::make_shared<const AgentSpec>();
  const Agent root = forest.tree.create(spec).value();
  const std::size_t before = resident();
  const std::uint64_t begin = cpu();
  for (std::size_t i = 0; i < count; ++i)
    if (!root.create_child(spec)) std::abort();
  const std::uint64_t end = cpu();
  const auto n = static_cast<double>(count);
  report("idle_bytes", std::to_string(count), static_cast<double>(resident() - before) / n, "bytes");
  report("create", std::to_string(count), static_cast<double>(end - begin) / n, "ns");
}

// Each answer is a call of the tool "wait".
class CallingClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::tool_calls);
    outcome.tool_calls = {{.id = {}, .name = "wait"}};
    sink.finish(std::move(outcome));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
};

// CPU time per agent from the stop of a star of agents, each in a tool call, until all have settled.
double settle_waiting(std::size_t count, bool asks) {
  CallingClient client;
  std::vector<ToolDone> open;
  AgentSpec spec;
  spec.llm = &client;
  spec.tools = std::make_shared<ToolRegistry>();
  spec.tools->add({{.name = "wait"}, [&](const auto&, const ToolContext& context, ToolDone done) {
                     if (asks) context.ask({.text = "Shall I?"}, [](const Answer&) {});
                     open.push_back(std::move(done));
                   }});
  Forest forest;
  forest.grow(count, std::make_shared<const AgentSpec>(std::move(spec)), Shape::star);
  for (const Agent& agent : forest.agents)
    if (!agent.send("go").accepted()) std::abort();
  while (open.size() < count) forest.runtime.poll();
  forest.runtime.poll();
  const std::uint64_t begin = cpu();
  if (!forest.agents.front().stop().took_effect()) std::abort();
  forest.runtime.poll();
  for (ToolDone& done : open) done(ToolResult::failed("stopped"));
  forest.settle();
  return static_cast<double>(cpu() - begin) / static_cast<double>(count);
}

void measure_questions(std::size_t count) {
  report("settle_asking", "no question", settle_waiting(count, false), "ns");
  report("settle_asking", "a question each", settle_waiting(count, true), "ns");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  if (what == "stop") return measure_stops(count), 0;
  if (what == "delete") return measure_deletes(count), 0;
  if (what == "memory") return measure_memory(count), 0;
  if (what == "questions") return measure_questions(argc > 2 ? count : 20'000), 0;
  std::fprintf(stderr, "usage: tree_bench stop|delete|memory|questions [agents]\n");
  return 2;
}
