// A conversation that becomes too long: a model call summarises its oldest turns, and the summary is sent in
// their place. Runs without a network: the model is scripted.
#include <agentcore/agentcore.hpp>
#include <agentcore/testing/scripted_client.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void expect(bool condition) {
  if (!condition) std::abort();
}

agentcore::testing::ScriptedReply answer(const agentcore::ChatRequest& request) {
  agentcore::testing::ScriptedReply reply;
  const bool summarises = request.messages.front().content() == "Sum up what was agreed.";
  reply.deltas = {summarises ? "The boat is booked for Tuesday." : "Noted, " + std::string(300, '.')};
  return reply;
}

}  // namespace

int main() {
  agentcore::Runtime runtime{{.log = agentcore::log_to_stderr()}};
  agentcore::testing::ScriptedClient llm{runtime, answer};
  agentcore::AgentTree tree{runtime, {.llm = &llm}};

  // [snippet: compaction]
  agentcore::AgentSpec spec;
  spec.context = {.max_tokens = 700, .target_tokens = 300, .min_conversation_tokens = 100};
  spec.context.compact = agentcore::Compaction{.prompt = "Sum up what was agreed.", .max_tokens = 200};
  agentcore::Agent agent = tree.create(std::move(spec)).value();
  const auto summaries =
      tree.on<agentcore::CompactionChanged>([](const agentcore::CompactionChanged& summary) {
        if (summary.used)
          std::printf("summarised: %zu tokens instead of %zu\n", summary.tokens_after, summary.tokens_before);
      });
  // [/snippet]

  for (const char* text : {"Book the boat for Monday.", "Better on Tuesday.", "Who comes along?",
                           "And what do we eat?", "Is there shade?", "When do we leave?"}) {
    expect(agent.send(text).accepted());
    runtime.run_until_idle();
  }

  const std::vector<agentcore::ChatMessage> sent = agent.context().value();
  for (const agentcore::ChatMessage& message : sent)
    std::printf("%s: %.60s\n", to_string(message.role).data(), message.content().c_str());
  expect(sent.front().summary && sent.front().content().ends_with("The boat is booked for Tuesday."));
  const std::vector<agentcore::ChatMessage> all = agent.conversation().value();
  expect(all.size() == 12 && all.front().content() == "Book the boat for Monday.");  // nothing is lost
  return sent.size() < all.size() ? 0 : 1;
}
