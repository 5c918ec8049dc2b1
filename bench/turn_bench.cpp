// Whole turns on one thread, without a network.
//
//   turn_bench long   turn_long: a turn of an agent whose history has 10, 10,000 and 200,000 messages already
#include "harness.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace agentcore;

// Answers each question at once, with as much text as the history has per message.
class AnsweringClient final : public LlmClient {
 public:
  explicit AnsweringClient(std::string answer) : answer_(std::move(answer)) {}
  void chat(ChatRequest, StopToken, ChatSink sink) override {
    sink.delta(answer_);
    sink.finish(ChatOutcome::completed(FinishReason::complete, {.prompt_tokens = 1, .completion_tokens = 1}));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }

 private:
  std::string answer_;
};

constexpr std::size_t message_bytes = 4000;  // the window of 32,000 tokens has room for some thirty
constexpr std::size_t turns_per_round = 50;

// CPU time of a turn, in microseconds. The first turns trim what does not fit: they do not count.
double measure_long(std::size_t messages) {
  const std::string text(message_bytes, 'a');
  AgentSpec spec;
  for (std::size_t i = 0; i < messages; ++i)
    spec.history.push_back(i % 2 == 0 ? ChatMessage::user(text) : ChatMessage::assistant(text));
  AnsweringClient client(text);
  Runtime runtime{{.poll_budget = std::chrono::seconds(100)}};
  AgentTree tree{runtime, {.llm = &client}};
  const Agent agent = tree.create(std::move(spec)).value();
  const auto run = [&] {
    for (std::size_t i = 0; i < turns_per_round; ++i) {
      if (!agent.send(text).accepted()) std::abort();
      while (tree.busy() || agent.state().value() != AgentState::idle) runtime.poll();
    }
  };
  run();
  return bench::median_of(5, [&] {
    const std::uint64_t begin = bench::cpu();
    run();
    return static_cast<double>(bench::cpu() - begin) / 1e3 / static_cast<double>(turns_per_round);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "long") {
    std::fprintf(stderr, "usage: turn_bench long\n");
    return 2;
  }
  const double few = measure_long(10);
  bench::report("turn_long", "10", few, "us");
  for (const std::size_t messages : {10'000U, 200'000U}) {
    bench::report("turn_long", std::to_string(messages), measure_long(messages), "us");
    bench::report_peer("turn_long", std::to_string(messages), few, "us", "10 messages");
  }
}
