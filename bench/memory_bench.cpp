// What agents with a conversation keep on the heap.
//
//   memory_bench stopped [agents]   stop_memory: idle, stopped, stopped in an answer, deleted
#include "forest.hpp"
#include "harness.hpp"
#include "support/observe/counted_heap.hpp"

#include <agentcore/llm_client.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace bench;
using test::live_heap;

// Answers at once with ten pieces, or, from leave_open() on, with ten pieces and no end.
class AnsweringClient final : public LlmClient {
 public:
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    for (int piece = 0; piece < 10; ++piece) sink.delta("a piece of an answer ");
    if (!leaves_open_) return sink.finish(ChatOutcome::completed(FinishReason::complete));
    open_.push_back(std::move(sink));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }

  void leave_open() { leaves_open_ = true; }
  std::size_t open() const { return open_.size(); }
  // As a client does after the stop: each call ends as cancelled.
  void cancel_all() {
    for (ChatSink& sink : std::exchange(open_, {})) sink.finish(ChatOutcome::cancelled());
  }

 private:
  bool leaves_open_ = false;
  std::vector<ChatSink> open_;
};

void demand(bool holds) {
  if (!holds) std::abort();
}

// Agents below one root, of which each has had one turn.
class Talkers {
 public:
  explicit Talkers(std::size_t count) : count_(count) {
    AgentSpec spec;
    spec.llm = &client_;
    spec_ = std::make_shared<const AgentSpec>(std::move(spec));
    forest_.grow(1, spec_, Shape::star);
    forest_.agents.reserve(count + 1);
    begin_ = live_heap();
    talk();
  }

  void talk() {
    forest_.agents.resize(1, root());
    while (forest_.agents.size() <= count_) forest_.agents.push_back(root().create_child(spec_).value());
    ask();
    forest_.settle();
  }
  void ask_without_end() {
    client_.leave_open();
    ask();
    while (client_.open() < count_) forest_.runtime.poll();
  }
  void stop() {
    demand(root().stop().took_effect());
    client_.cancel_all();
    forest_.settle();
    demand(forest_.agents.back().state().value() == AgentState::stopped);
  }
  void resume() {
    demand(root().resume().took_effect());
    forest_.settle();
  }
  void remove() {
    for (std::size_t i = 1; i <= count_; ++i) demand(forest_.agents[i].terminate().took_effect());
    forest_.settle();
    demand(forest_.tree.size() == 1);
  }

  // Bytes per agent that have been allocated since there were none, and not freed.
  double kept() const {
    return (static_cast<double>(live_heap()) - static_cast<double>(begin_)) / static_cast<double>(count_);
  }

 private:
  Agent root() const { return forest_.agents.front(); }
  void ask() {
    for (std::size_t i = 1; i <= count_; ++i) demand(forest_.agents[i].send("What is there?").accepted());
  }

  const std::size_t count_;
  AnsweringClient client_;
  SharedAgentSpec spec_;
  Forest forest_;
  std::size_t begin_ = 0;
};

void report_beside(std::string_view variant, double bytes, std::string_view other, double others) {
  report("stop_memory", variant, bytes, "bytes");
  report_peer("stop_memory", variant, others, "bytes", other);
}

void measure_stopped(std::size_t count) {
  Talkers talkers(count);
  const double idle = talkers.kept();
  report("stop_memory", "idle", idle, "bytes");
  talkers.stop();
  report_beside("stopped", talkers.kept(), "idle", idle);
  talkers.remove();
  const double deleted = talkers.kept();
  report("stop_memory", "deleted", deleted, "bytes");
  talkers.resume();
  talkers.talk();
  talkers.remove();
  report_beside("deleted a second time", talkers.kept(), "deleted", deleted);
}

void measure_stopped_in_an_answer(std::size_t count) {
  Talkers talkers(count);
  talkers.ask_without_end();
  const double answering = talkers.kept();
  talkers.stop();
  report_beside("stopped in an answer", talkers.kept(), "in an answer", answering);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "stopped") {
    std::fprintf(stderr, "usage: memory_bench stopped [agents]\n");
    return 2;
  }
  const std::size_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000;
  measure_stopped(count);
  measure_stopped_in_an_answer(count);
}
