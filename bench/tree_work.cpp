// A fixed amount of work of a tree without a store, to count its instructions at two commits: see
// scripts/count-instructions. It uses nothing that is younger than stores.
//
//   tree_work [ROUNDS]
#include "forest.hpp"

#include <agentcore/llm_client.hpp>
#include <agentcore/tool_registry.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace bench;

constexpr std::size_t agents_per_round = 1000;

// Calls the tool "look" for each question, and answers when it has the result.
class AnsweringModel final : public LlmClient {
 public:
  void chat(ChatRequest request, StopToken, ChatSink sink) override {
    ChatOutcome outcome = ChatOutcome::completed(FinishReason::complete);
    if (request.messages.back().role == Role::user) {
      outcome = ChatOutcome::completed(FinishReason::tool_calls);
      outcome.tool_calls = {{.id = {}, .name = "look"}};
    } else {
      for (int piece = 0; piece < 10; ++piece) sink.delta("a piece of an answer ");
    }
    sink.finish(std::move(outcome));
  }
  bool abort(std::string_view) override { return false; }
  bool has_active_request(std::string_view) const override { return false; }
};

void demand(bool holds) {
  if (!holds) std::abort();
}

// Creates a tree of agents, lets each have two turns, stops and resumes all, and deletes them.
void work(const SharedAgentSpec& spec, std::size_t& ended) {
  Forest forest;
  forest.grow(agents_per_round, spec, Shape::tree);
  const Subscription ends = forest.tree.on<TurnEnded>([&](const TurnEnded& event) {
    demand(event.result->outcome == TurnOutcome::completed);
    ++ended;
  });
  for (int turn = 0; turn < 2; ++turn) {
    for (const Agent& agent : forest.agents) demand(agent.send("What is there?").accepted());
    forest.settle();
  }
  for (const Agent& agent : forest.agents) {
    demand(agent.pause().took_effect());
    demand(agent.send("And now?").accepted());
    static_cast<void>(agent.unpause());
  }
  forest.settle();
  demand(forest.agents.front().stop().took_effect());
  forest.settle();
  demand(forest.agents.front().resume().took_effect());
  forest.settle();
  demand(forest.agents.front().terminate().took_effect());
  forest.settle();
  demand(forest.tree.size() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 10;
  AnsweringModel model;
  AgentSpec spec;
  spec.llm = &model;
  spec.tools = std::make_shared<ToolRegistry>();
  spec.tools->add({{.name = "look"},
                   [](const auto&, const ToolContext&, ToolDone done) { done(ToolResult::done("a tree")); }});
  const auto shared = std::make_shared<const AgentSpec>(std::move(spec));
  std::size_t ended = 0;
  for (std::size_t i = 0; i < rounds; ++i) work(shared, ended);
  demand(ended == 3 * rounds * agents_per_round);
}
