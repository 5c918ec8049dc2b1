// Steers from other threads while the loop runs, and verbs against them: each message has exactly one fate.
#include "support/catch.hpp"
#include "support/clients/fake_client.hpp"
#include "support/drive/team.hpp"

#include <agentcore/agentcore.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using agentcore::test::Dice;
using agentcore::test::FakeClient;
using agentcore::test::Team;

namespace {

// What was reported of one steered message.
struct Seen {
  int fates = 0;
  Steered fate;
  int ends = 0;  // of its turn, or a drop
};

struct Sent {
  SendResult result;
  std::string text;
};

std::string problem_of(const Sent& sent, const Seen& seen, const std::vector<ChatMessage>& history) {
  if (seen.fates != 1) return std::to_string(seen.fates) + " fates of a steered message";
  const auto is_it = [&](const ChatMessage& message) {
    return message.content() == sent.text && message.steered;
  };
  const auto in_history = std::count_if(history.begin(), history.end(), is_it);
  switch (seen.fate.fate) {
    case SteerFate::delivered:
      if (in_history != 1) return "a delivered message that is not once in the history";
      return seen.ends == 0 ? "" : "a delivered message that began a turn";
    case SteerFate::queued:
      return seen.ends == 1 ? "" : "a queued message without one end";
    case SteerFate::returned:
      if (seen.fate.reason == Errc::none || seen.fate.message.text != sent.text)
        return "a return without its text";
      return seen.ends == 0 && in_history == 0 ? "" : "a returned message that was sent";
  }
  return "another fate";
}

}  // namespace

TEST_CASE("each steered message has exactly one fate", "[stop][race][steer][G8][Y6]") {
  FakeClient client;
  Runtime runtime;
  AgentTree tree(runtime, {.llm = &client, .max_reasks = 100});
  std::map<MessageId, Seen> seen;
  std::size_t reasks = 0;
  const auto events = tree.on_event([&](const Event& event) {
    if (const auto* steered = event.get<Steered>()) {
      ++seen[steered->id].fates;
      seen[steered->id].fate = *steered;
    } else if (const auto* ended = event.get<TurnEnded>()) {
      ++seen[ended->message].ends;
    } else if (const auto* dropped = event.get<MessageDropped>()) {
      ++seen[dropped->id].ends;
    } else if (event.get<ModelCallEnded>()) {
      ++reasks;
    }
  });
  Team team(2);
  std::size_t fates[3] = {0, 0, 0}, taken_now = 0;
  const auto all_seen = [&] {
    return fates[0] > 0 && fates[1] > 0 && fates[2] > 0 && taken_now > 0 && reasks > 0;
  };
  for (int round = 0; round < 1500 || (round < 50000 && !all_seen()); ++round) {
    const Agent agent = tree.create({}).value();
    std::vector<Sent> sent;
    CHECK(agent.send("question"));
    if (round % 2 == 0) runtime.poll();  // its turn runs when the messages come
    team.run(
        [&](int member) {
          Dice dice(static_cast<std::uint64_t>(round) * 2 + static_cast<std::uint64_t>(member));
          if (member == 1) {
            if (dice.below(3) == 0) static_cast<void>(agent.interrupt());
            if (dice.below(3) == 0) static_cast<void>(agent.stop());
            return;
          }
          for (int i = 0; i < 3; ++i) {
            const SteerOptions options{
                .when = dice.below(2) ? SteerWhen::now : SteerWhen::next_step,
                .fallback = dice.below(2) ? SteerFallback::queue : SteerFallback::give_back};
            std::string text = std::to_string(round) + "." + std::to_string(i);
            const SendResult result = agent.steer(text, options);
            sent.push_back({result, std::move(text)});
          }
        },
        [&] {
          runtime.poll();
          if (!client.open_calls().empty()) FakeClient::complete(*client.open_calls().front());
        });
    static_cast<void>(agent.resume());
    for (int i = 0; i < 60 && (tree.busy() || !client.open_calls().empty()); ++i) {
      client.cancel_stopped();
      client.answer_all();
      runtime.poll();
      static_cast<void>(agent.resume());
    }
    client.forget_ended();
    const std::vector<ChatMessage> history = agent.conversation().value();
    REQUIRE(is_valid_history(history));
    for (const Sent& one : sent) {
      if (!one.result) continue;
      const Seen& what = seen[one.result.id];
      REQUIRE(problem_of(one, what, history) == "");
      ++fates[static_cast<std::size_t>(what.fate.fate)];
      taken_now += one.result.ended_call;
    }
    seen.clear();
    CHECK(agent.terminate().took_effect());
    runtime.poll();
  }
  INFO(fates[0] << " delivered, " << fates[1] << " queued, " << fates[2] << " returned, " << taken_now
                << " now, " << reasks << " asked again");
  CHECK(all_seen());
}

TEST_CASE("a steer that meets a stop is refused or gets its fate before the agent has settled",
          "[stop][race][steer][C9][G4]") {
  Runtime runtime;
  AgentTree tree(runtime);
  std::map<MessageId, int> fates;
  Agent agent;
  bool settled = false, after_end = false;
  const auto steers = tree.on<Steered>([&](const Steered& steered) {
    ++fates[steered.id];
    after_end = after_end || settled;
  });
  const auto ends = tree.on<Settled>([&](const Settled& end) { settled = settled || end.agent == agent; });
  Team team(1);
  std::size_t accepted = 0, refused = 0;
  for (int round = 0; round < 4000 || (round < 100000 && (accepted == 0 || refused == 0)); ++round) {
    agent = tree.create({.handler = [](const Agent&, const Message&) {}}).value();
    std::vector<SendResult> results;
    int polls = 0;
    settled = false;
    team.run(
        [&](int) {
          for (int i = 0; i < 8; ++i) results.push_back(agent.steer("x"));
        },
        [&] {
          if (polls++ == round % 8) CHECK(agent.stop().took_effect());
          runtime.poll();
        });
    if (polls <= round % 8) CHECK(agent.stop().took_effect());
    for (int i = 0; i < 10; ++i) runtime.poll();
    REQUIRE(settled);
    REQUIRE_FALSE(after_end);
    for (const SendResult& result : results) {
      ++(result ? accepted : refused);
      REQUIRE(fates[result.id] == (result ? 1 : 0));
      fates.erase(result.id);
    }
    CHECK(agent.terminate().took_effect());
    runtime.poll();
  }
  INFO(accepted << " accepted, " << refused << " refused");
  CHECK((accepted > 0 && refused > 0));
}
