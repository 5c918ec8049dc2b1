// Whatever happens around summaries: nothing is lost but what a summary stands for, and what is sent is
// valid.
#include "property/sendable.hpp"
#include "support/drive/tool_turn.hpp"
#include "support/prop.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace property_test;

namespace {

struct Limits {
  std::size_t max = 0, target = 0, minimum = 0;
  std::vector<bool> pinned;  // one turn of the first history for each
};

struct Play : ToolTurn {
  explicit Play(const Limits& limits) {
    AgentSpec spec;
    spec.system_prompt = "Be brief.";
    spec.limits.turn_timeout = std::chrono::hours(1);
    spec.context = {
        .max_tokens = limits.max, .target_tokens = limits.target, .min_conversation_tokens = limits.minimum};
    spec.context.compact = Compaction{.prompt = "Sum up."};
    spec.context.count_tokens = [](std::string_view text) { return text.size(); };
    for (const bool pinned : limits.pinned) {
      spec.history.push_back(ChatMessage::user(next_text()));
      spec.history.back().pinned = pinned;
      spec.history.push_back(ChatMessage::assistant(next_text()));
    }
    a = agent(std::move(spec));
  }

  Agent a;
  int sent = 0;
  std::vector<std::string> whole;  // the texts of all summaries that were completed

  std::string next_text() {
    ++sent;
    return "m" + std::to_string(sent) + std::string(static_cast<std::size_t>(sent * 37 % 150), 'x');
  }
  bool summarises() const {
    const auto call = llm->find("a");
    return call && call->request.messages.front().content() == "Sum up.";
  }
  void answer_in_words() {
    const std::string text = next_text();
    if (summarises()) whole.push_back(text);
    llm->answer("a", text);
  }
  // A summary is cut off, or fails.
  void answer_badly() {
    if (!summarises()) return llm->fail("a");
    llm->delta("a", "half");
    FakeClient::finish(*llm->find("a"), ChatOutcome::completed(FinishReason::length));
  }
};

struct PlayStep {
  const char* name;
  std::function<void(Play&)> act;
};

const std::array play_steps{
    PlayStep{"send", [](Play& p) { static_cast<void>(p.a.send(p.next_text())); }},
    PlayStep{"send", [](Play& p) { static_cast<void>(p.a.send(p.next_text())); }},
    PlayStep{"poll", [](Play& p) { p.settle(); }},
    PlayStep{"poll", [](Play& p) { p.settle(); }},
    PlayStep{"answer", [](Play& p) { p.answer_in_words(); }},
    PlayStep{"answer", [](Play& p) { p.answer_in_words(); }},
    PlayStep{"answer", [](Play& p) { p.answer_in_words(); }},
    PlayStep{"answer badly", [](Play& p) { p.answer_badly(); }},
    PlayStep{"call tools",
             [](Play& p) {
               if (p.summarises()) return;
               p.llm->call_tools("a", {add_call("", 1, 2), {.name = "held"}}, p.next_text());
             }},
    PlayStep{"call a tool",
             [](Play& p) {
               if (!p.summarises()) p.llm->call_tools("a", {add_call("", 1, 2)}, p.next_text());
             }},
    PlayStep{"end a tool",
             [](Play& p) {
               if (p.held.calls.size() != 0)
                 p.held.calls[p.held.calls.size() - 1].done(ToolResult::done("ok"));
             }},
    PlayStep{"steer", [](Play& p) { static_cast<void>(p.a.steer(p.next_text())); }},
    PlayStep{"steer now",
             [](Play& p) { static_cast<void>(p.a.steer(p.next_text(), {.when = SteerWhen::now})); }},
    PlayStep{"interrupt", [](Play& p) { static_cast<void>(p.a.interrupt()); }},
    PlayStep{"abort", [](Play& p) { static_cast<void>(p.a.abort()); }},
    PlayStep{"an hour passes", [](Play& p) { p.advance(std::chrono::hours(1)); }},
    PlayStep{"pause", [](Play& p) { static_cast<void>(p.a.pause()); }},
    PlayStep{"unpause", [](Play& p) { static_cast<void>(p.a.unpause()); }},
    PlayStep{"stop", [](Play& p) { static_cast<void>(p.a.stop()); }},
    PlayStep{"resume", [](Play& p) { static_cast<void>(p.a.resume()); }},
};

// As context_problem(); and a summary that is sent was completed.
std::string problem_after(const Play& play) {
  if (std::string why = context_problem(play.a); !why.empty()) return why;
  const std::vector<ChatMessage> sent = play.a.context().value();
  const auto summary = std::ranges::find_if(sent, &ChatMessage::summary);
  if (summary == sent.end()) return {};
  const auto is_it = [&](const std::string& text) { return summary->content().ends_with("\n" + text); };
  return std::ranges::any_of(play.whole, is_it) ? std::string() : "a summary that is not whole";
}

// True if nothing of `before` was removed or changed in `after`, but for results and marks.
bool continues(const std::vector<ChatMessage>& before, const std::vector<ChatMessage>& after) {
  if (after.size() < before.size()) return false;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i].role != after[i].role || before[i].tool_call_id != after[i].tool_call_id ||
        (before[i].role != Role::tool && before[i].content() != after[i].content()))
      return false;
  return true;
}

}  // namespace

TEST_CASE("summaries lose nothing of a conversation, and whatever is sent is valid",
          "[property][compaction][context][tools][interrupt][steer][pause][G8]") {
  prop("after each step, for any limits", [] {
    const std::size_t max = *rc::gen::inRange<std::size_t>(300, 1500);
    const Limits limits{max, *rc::gen::inRange<std::size_t>(1, max), *rc::gen::inRange<std::size_t>(0, max),
                        *rc::gen::container<std::vector<bool>>(rc::gen::arbitrary<bool>())};
    const auto steps = *rc::gen::container<std::vector<std::size_t>>(
        *rc::gen::inRange<std::size_t>(1, 120), rc::gen::inRange<std::size_t>(0, play_steps.size()));
    Play play(limits);
    std::string names;
    std::vector<ChatMessage> before = play.a.conversation().value();
    for (const std::size_t step : steps) {
      play_steps[step].act(play);
      names += std::string(names.empty() ? "" : ", ") + play_steps[step].name;
      const auto after = play.a.conversation().value();
      if (!continues(before, after)) RC_FAIL(names + ": the conversation has lost a message");
      before = after;
      if (const std::string why = problem_after(play); !why.empty()) RC_FAIL(names + ": " + why);
    }
    RC_CLASSIFY(play.seen.count("compacted a") != 0, "with a summary");
    static_cast<void>(play.tree->stop_all());
    play.settle();
    play.advance(std::chrono::hours(1));
    RC_ASSERT(problem_after(play) == "");
    RC_ASSERT_FALSE(play.tree->busy());
    RC_ASSERT(play.llm->histories_were_valid());
    RC_ASSERT(play.seen.violations == std::vector<std::string>{});
    RC_ASSERT(play.seen.count("compacts a") ==
              play.seen.count("not-compacted a") +
                  static_cast<std::size_t>(std::ranges::count(play.seen.lines, "compacted a")));
    play.held.calls.clear();
  });
}
