// Turns, partial answers, steers, rewinds, forks, truncations and summaries in any order leave valid
// histories.
#include "property/sendable.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/prop.hpp"

#include <agentcore/conversation.hpp>
#include <agentcore/history.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

using History = std::vector<ChatMessage>;

// An agent and its forks.
struct Play : ToolTurn {
  std::vector<Agent> agents;
  std::map<std::string, MessageId> messages;  // of the last turn of each agent
  Subscription starts;
  int sent = 0;
  std::string problem;
  bool removes = false;  // older messages, from the conversation

  Play(PartialAnswers kept, std::optional<std::size_t> archive_bytes) {
    AgentSpec spec;
    spec.partial_answers = kept;
    spec.limits.turn_timeout = std::chrono::hours(1);
    if (archive_bytes) {
      spec.context = {.max_tokens = 700, .target_tokens = 300, .min_conversation_tokens = 1};
      spec.context.compact = Compaction{.prompt = "Sum up."};
      spec.context.archive_bytes = *archive_bytes;
      removes = *archive_bytes != no_limit;
      spec.context.count_tokens = [](std::string_view text) { return text.size(); };
    }
    agents.push_back(agent(std::move(spec)));
    starts = tree->on<TurnStarted>(
        [this](const TurnStarted& started) { messages[started.agent.id()] = started.message; });
  }

  std::string next_text() {
    ++sent;
    return "m" + std::to_string(sent) + std::string(static_cast<std::size_t>(sent * 37 % 150), 'x');
  }
  History history(const Agent& of) const { return of.conversation().value(); }
  // One of the turns of the agent, which differs from call to call; 0: there is none.
  std::uint64_t some_turn(const Agent& of) {
    const auto turns = of.turns().value();
    return turns.empty() ? 0 : turns[static_cast<std::size_t>(++sent) % turns.size()].turn;
  }
};

// What a rewind leaves and what it returns is the conversation as it was, but for the end of the last turn.
void rewind_one(Play& play, const Agent& agent) {
  const std::uint64_t turn = play.some_turn(agent);
  const History before = play.history(agent);
  const auto removed = agent.rewind(turn);
  if (!removed) {
    if (turn != 0) play.problem = "a rewind was refused";
    return;
  }
  const History left = play.history(agent);
  if (left.size() + removed->size() < before.size()) play.problem = "a rewind has lost a message";
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] != before[i]) play.problem = "a rewind has changed an earlier message";
}

// A fork does not change its origin.
void fork_one(Play& play, const Agent& agent) {
  if (play.agents.size() == 4) return;
  const History before = play.history(agent);
  const auto turns = agent.turns().value();
  std::optional<std::uint64_t> at;
  if (!turns.empty() && turns.front().ended && play.sent % 2 == 0) at = turns.front().turn;
  const auto forked = agent.fork({.id = "f" + std::to_string(play.agents.size()), .at = at});
  if (play.history(agent) != before) play.problem = "a fork has changed its origin";
  if (!forked) {
    play.problem = "a fork was refused";
    return;
  }
  const History copy = play.history(forked.value());
  for (std::size_t i = 0; i < copy.size(); ++i)
    if (copy[i] != before[i]) play.problem = "a fork is not a copy";
  play.agents.push_back(forked.value());
}

struct PlayStep {
  const char* name;
  std::function<void(Play&, const Agent&)> act;
};

const std::array play_steps{
    PlayStep{"send", [](Play& p, const Agent& a) { static_cast<void>(a.send(p.next_text())); }},
    PlayStep{"send and poll",
             [](Play& p, const Agent& a) {
               static_cast<void>(a.send(p.next_text()));
               p.settle();
             }},
    PlayStep{"poll", [](Play& p, const Agent&) { p.settle(); }},
    PlayStep{"delta", [](Play& p, const Agent& a) { p.llm->delta(a.id(), "w\xC3\xB6rds "); }},
    PlayStep{"blank delta", [](Play& p, const Agent& a) { p.llm->delta(a.id(), " "); }},
    PlayStep{
        "acknowledge",
        [](Play& p, const Agent& a) {
          static_cast<void>(a.acknowledge({p.messages[a.id()], 1, static_cast<std::size_t>(p.sent % 9)}));
        }},
    PlayStep{"answer", [](Play& p, const Agent& a) { p.llm->answer(a.id(), p.next_text()); }},
    PlayStep{"call tools",
             [](Play& p, const Agent& a) {
               p.llm->call_tools(a.id(), {add_call("", 1, 2), {.name = "held"}}, "words");
             }},
    PlayStep{"end a tool",
             [](Play& p, const Agent&) {
               if (p.held.calls.size() != 0)
                 p.held.calls[p.held.calls.size() - 1].done(ToolResult::done("ok"));
             }},
    PlayStep{"fail", [](Play& p, const Agent& a) { p.llm->fail(a.id()); }},
    PlayStep{"steer", [](Play& p, const Agent& a) { static_cast<void>(a.steer(p.next_text())); }},
    PlayStep{
        "steer now",
        [](Play& p, const Agent& a) { static_cast<void>(a.steer(p.next_text(), {.when = SteerWhen::now})); }},
    PlayStep{"abort", [](Play&, const Agent& a) { static_cast<void>(a.abort()); }},
    PlayStep{"interrupt", [](Play&, const Agent& a) { static_cast<void>(a.interrupt()); }},
    PlayStep{"stop and resume",
             [](Play& p, const Agent& a) {
               static_cast<void>(a.stop());
               p.settle();
               static_cast<void>(a.resume());
             }},
    PlayStep{"an hour passes", [](Play& p, const Agent&) { p.advance(std::chrono::hours(1)); }},
    PlayStep{"rewind", rewind_one},
    PlayStep{"regenerate", [](Play&, const Agent& a) { static_cast<void>(a.regenerate()); }},
    PlayStep{"truncate",
             [](Play& p, const Agent& a) {
               static_cast<void>(a.truncate_answer(p.messages[a.id()], static_cast<std::size_t>(p.sent % 4)));
             }},
    PlayStep{"fork", fork_one},
};

bool is_turn_open(const Agent& agent) {
  const auto turns = agent.turns().value();
  return !turns.empty() && !turns.back().ended;
}

// True if nothing of `old` has changed at the beginning of `now`, but that a call which did not end in time
// was given up: the time that passes in a step passes for all agents.
bool is_kept(History old, const History& now) {
  if (old.size() > now.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i)
    if (old[i].call_end && now[i].call_end && now[i].call_end->outcome == ToolOutcome::abandoned)
      old[i].call_end->outcome = ToolOutcome::abandoned;
  return std::equal(old.begin(), old.end(), now.begin());
}

// Of the agent that a step has changed, and of all others: nothing of theirs may change that had ended.
std::string problem_after(const Play& play, const Agent& changed,
                          const std::map<std::string, History>& before) {
  if (!play.problem.empty()) return play.problem;
  for (const Agent& agent : play.agents) {
    const History history = play.history(agent);
    if (std::string why = problem_of(history); !why.empty()) return agent.id() + ": " + why;
    if (!is_turn_open(agent) && !repair_history(history).changes.empty())
      return agent.id() + ": a history that would be repaired";
    const auto old = before.find(agent.id());
    if (std::string why = context_problem(agent, play.removes); !why.empty()) return agent.id() + ": " + why;
    if (agent == changed || old == before.end()) continue;
    if (!is_kept(old->second, history)) return agent.id() + " was changed by a step of another agent";
  }
  return {};
}

}  // namespace

TEST_CASE("any sequence of turns, their ends and changes of conversations leaves histories that can be sent",
          "[property][turn][partial][rewind][fork][truncate][compaction][G8]") {
  prop("after each step, and a fork and its origin are independent", [] {
    using Move = std::pair<std::size_t, std::size_t>;  // a step and its agent
    const auto moves = *rc::gen::container<std::vector<Move>>(rc::gen::pair(
        rc::gen::inRange<std::size_t>(0, play_steps.size()), rc::gen::inRange<std::size_t>(0, 4)));
    // With summaries, which remove nothing, or remove what they stand for.
    const auto archive = *rc::gen::element<std::optional<std::size_t>>(std::nullopt, no_limit, 200);
    Play play(
        *rc::gen::element(PartialAnswers::keep, PartialAnswers::keep_acknowledged, PartialAnswers::drop),
        archive);
    std::string names;
    for (const auto& [step, of] : moves) {
      const Agent agent = play.agents[of % play.agents.size()];
      std::map<std::string, History> before;
      for (const Agent& each : play.agents)
        if (!is_turn_open(each) && archive != 200) before[each.id()] = play.history(each);
      play_steps[step].act(play, agent);
      names += (names.empty() ? "" : ", ") + agent.id() + " " + play_steps[step].name;
      if (const std::string problem = problem_after(play, agent, before); !problem.empty())
        RC_FAIL(names + ": " + problem);
    }
    RC_CLASSIFY(std::ranges::any_of(play.seen.lines,
                                    [](const std::string& line) { return line.starts_with("compacted "); }),
                "with a summary");
    static_cast<void>(play.tree->stop_all());
    play.settle();
    play.advance(std::chrono::hours(1));
    RC_ASSERT_FALSE(play.tree->busy());
    RC_ASSERT(play.llm->histories_were_valid());
    RC_ASSERT(play.seen.violations == std::vector<std::string>{});
    play.held.calls.clear();
  });
}
