// Any sequence of verbs leaves histories that every dialect can send, and a held mailbox in its order.
#include "property/generate.hpp"
#include "property/sendable.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/prop.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

// ---- A parent, its child and its grandchild, and what may happen to them.

struct Play : ToolTurn {
  Play() {
    agents.push_back(agent({.limits = {.turn_timeout = std::chrono::hours(1)}}));
    agents.push_back(child(agents[0], "b", {.tools = tools, .limits = {.lease = std::chrono::hours(2)}}));
    agents.push_back(child(agents[1], "c", {.tools = tools}));
  }

  std::vector<Agent> agents;
  int sent = 0;

  std::string next_text() { return "m" + std::to_string(++sent); }
  std::string newest_call(const Agent& of) {
    const auto history = of.conversation().value();
    for (auto message = history.rbegin(); message != history.rend(); ++message)
      if (!message->tool_calls().empty()) return message->tool_calls().back().id;
    return "none";
  }
};

// What happens, and to which agent.
struct PlayStep {
  const char* name;
  std::function<void(Play&, const Agent&)> act;
};

template <typename Options>
auto stops(Options options) {
  return [options](Play&, const Agent& a) { static_cast<void>(a.stop(options)); };
}

template <typename Options>
auto interrupts(Options options) {
  return [options](Play&, const Agent& a) { static_cast<void>(a.interrupt(options)); };
}

const std::array play_steps{
    PlayStep{"send", [](Play& p, const Agent& a) { static_cast<void>(a.send(p.next_text())); }},
    PlayStep{"poll", [](Play& p, const Agent&) { p.poll(); }},
    PlayStep{"poll until idle", [](Play& p, const Agent&) { p.settle(); }},
    PlayStep{"an hour passes", [](Play& p, const Agent&) { p.advance(std::chrono::hours(1)); }},
    PlayStep{"answer", [](Play& p, const Agent& a) { p.llm->answer(a.id(), "words"); }},
    PlayStep{"call tools",
             [](Play& p, const Agent& a) {
               p.llm->call_tools(a.id(), {{.name = "held"}, add_call("", 1, 2), {.name = "held"}}, "words");
             }},
    PlayStep{"fail", [](Play& p, const Agent& a) { p.llm->fail(a.id()); }},
    PlayStep{"end a tool",
             [](Play& p, const Agent&) {
               if (p.held.calls.size() != 0)
                 p.held.calls[p.held.calls.size() - 1].done(ToolResult::done("ok"));
             }},
    PlayStep{"steer", [](Play& p, const Agent& a) { static_cast<void>(a.steer(p.next_text())); }},
    PlayStep{
        "steer now",
        [](Play& p, const Agent& a) { static_cast<void>(a.steer(p.next_text(), {.when = SteerWhen::now})); }},
    PlayStep{"interrupt", interrupts(InterruptOptions())},
    PlayStep{"interrupt and hold", interrupts(InterruptOptions{.queue = QueueAction::hold})},
    PlayStep{"interrupt and drop", interrupts(InterruptOptions{.queue = QueueAction::drop})},
    PlayStep{"interrupt a subtree", interrupts(InterruptOptions{.scope = Scope::subtree})},
    PlayStep{"release", [](Play&, const Agent& a) { static_cast<void>(a.release_queue()); }},
    PlayStep{"abort", [](Play&, const Agent& a) { static_cast<void>(a.abort()); }},
    PlayStep{"cancel a call",
             [](Play& p, const Agent& a) { static_cast<void>(a.cancel_call(p.newest_call(a))); }},
    PlayStep{"complete a call",
             [](Play& p, const Agent& a) {
               static_cast<void>(a.complete_call(p.newest_call(a), ToolResult::done("by hand")));
             }},
    PlayStep{"pause", [](Play&, const Agent& a) { static_cast<void>(a.pause()); }},
    PlayStep{"unpause", [](Play&, const Agent& a) { static_cast<void>(a.unpause()); }},
    PlayStep{"renew", [](Play&, const Agent& a) { static_cast<void>(a.renew()); }},
    PlayStep{"stop", stops(StopOptions())},
    PlayStep{"stop alone", stops(StopOptions{.scope = Scope::agent})},
    PlayStep{"stop below", stops(StopOptions{.scope = Scope::descendants})},
    PlayStep{"stop after the step", stops(StopOptions{.when = StopWhen::after_step})},
    PlayStep{"stop after the turn",
             stops(StopOptions{.when = StopWhen::after_turn, .escalate_after = std::chrono::minutes(1)})},
    PlayStep{"resume", [](Play&, const Agent& a) { static_cast<void>(a.resume()); }},
};

// Of a whole tree, also in the middle of a turn.
std::string problem_of(const Play& play) {
  for (const Agent& agent : play.agents)
    if (const std::string why = property_test::problem_of(agent.conversation().value()); !why.empty())
      return agent.id() + ": " + why;
  return {};
}

}  // namespace

TEST_CASE("any sequence of verbs in a tree leaves histories that every dialect can send",
          "[property][turn][interrupt][steer][pause][later][lease][G8]") {
  prop("after each step, and after all ended", [] {
    using Move = std::pair<std::size_t, std::size_t>;  // a step and its agent
    const auto moves = *rc::gen::container<std::vector<Move>>(rc::gen::pair(
        rc::gen::inRange<std::size_t>(0, play_steps.size()), rc::gen::inRange<std::size_t>(0, 3)));
    Play play;
    std::string names;
    for (const auto& [step, of] : moves) {
      const Agent& agent = play.agents[of];
      play_steps[step].act(play, agent);
      names += (names.empty() ? "" : ", ") + agent.id() + " " + play_steps[step].name;
      if (const std::string problem = problem_of(play); !problem.empty()) RC_FAIL(names + ": " + problem);
    }
    static_cast<void>(play.tree->stop_all());
    play.settle();
    play.advance(std::chrono::hours(1));
    RC_ASSERT(problem_of(play) == "");
    RC_ASSERT_FALSE(play.tree->busy());
    RC_ASSERT(play.llm->histories_were_valid());
    RC_ASSERT(play.seen.violations == std::vector<std::string>{});
    play.held.calls.clear();
  });
}

TEST_CASE("a held mailbox keeps the order of its messages", "[property][interrupt]") {
  prop("whatever is sent and interrupted before the release", [] {
    TreeFixture t;
    std::vector<std::string> handled;
    const Agent agent = t.root(
        "a", {.handler = [&](const Agent&, const Message& message) { handled.push_back(message.text); }});
    RC_ASSERT(agent.interrupt({.queue = QueueAction::hold}).reason == Errc::turn_over);
    std::vector<std::string> normal, urgent;
    for (int steps_left = *rc::gen::inRange(1, 30); steps_left > 0; --steps_left) {
      const std::string text = std::to_string(steps_left);
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
          RC_ASSERT(agent.send({.text = text, .priority = MessagePriority::urgent}).accepted());
          urgent.push_back(text);
          break;
        case 1:
          t.poll();
          break;
        case 2:
          static_cast<void>(agent.interrupt({.queue = QueueAction::hold}));
          break;
        default:
          RC_ASSERT(agent.send(text).accepted());
          normal.push_back(text);
      }
    }
    t.settle();
    RC_ASSERT(handled.empty());
    std::vector<std::string> expected = urgent;
    expected.insert(expected.end(), normal.begin(), normal.end());
    std::vector<std::string> queued;
    for (const QueuedMessage& message : agent.queued().value()) queued.push_back(message.message.text);
    RC_ASSERT(queued == expected);
    RC_ASSERT(agent.release_queue().took_effect());
    t.settle();
    RC_ASSERT(handled == expected);
  });
}
