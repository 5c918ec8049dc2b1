// Acknowledgements from another thread against the verbs that end the answer.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/team.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/conversation.hpp>
#include <agentcore/testing/references.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

constexpr std::string_view answer = "0123456789";

// The length of the part that is kept; 0: none is.
std::size_t kept(const std::vector<ChatMessage>& history) {
  for (const ChatMessage& message : history)
    if (message.is_partial()) return message.content().size();
  return 0;
}

}  // namespace

TEST_CASE("exactly what was acknowledged before the end of an answer is kept",
          "[stop][race][partial][acknowledge][G8][Y6]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client});
  Team team(2);
  std::size_t some = 0, none = 0, refused = 0;
  const auto all_seen = [&] { return some > 0 && none > 0 && refused > 0; };
  for (int round = 0; round < 1000 || (round < 50000 && !all_seen()); ++round) {
    AgentSpec spec;
    spec.id = "a";
    spec.partial_answers = PartialAnswers::keep_acknowledged;
    const Agent agent = tree.create(std::move(spec)).value();
    const MessageId message = agent.send("question").id;
    while (client.open_calls().empty()) runtime.poll();
    client.delta("a", answer);
    std::size_t seen = 0;  // the greatest that was accepted
    Dice dice(static_cast<std::uint64_t>(round));
    const auto verb = dice.below(3);
    team.run(
        [&](int member) {
          if (member == 1) {
            if (verb == 0) static_cast<void>(agent.interrupt());
            if (verb == 1) static_cast<void>(agent.stop());
            if (verb == 2) static_cast<void>(agent.steer("now", {.when = SteerWhen::now}));
            return;
          }
          for (std::size_t bytes = 1; bytes <= answer.size(); ++bytes) {
            const Result<void> result = agent.acknowledge({message, 1, bytes});
            if (result)
              seen = bytes;
            else
              ++refused;
          }
        },
        [&] { runtime.poll(); });
    runtime.poll();
    const std::vector<ChatMessage> history = agent.conversation().value();
    REQUIRE(is_valid_history(history));
    // A steered message keeps what was acknowledged until the loop has ended the call.
    REQUIRE((verb == 2 ? kept(history) <= seen : kept(history) == seen));
    ++(kept(history) == 0 ? none : some);
    CHECK(agent.terminate().took_effect());
    for (int i = 0; i < 20 && tree.size() != 0; ++i) {
      client.cancel_stopped();
      client.answer_all();
      runtime.poll();
    }
    client.forget_ended();
    REQUIRE(agentcore::testing::count_references(tree, "a") == 0);
  }
  INFO(some << " kept a part, " << none << " nothing, " << refused << " were late");
  CHECK(all_seen());
}
