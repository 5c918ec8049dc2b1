// Stopping: a stop on a stage, and the state after it.
#pragma once

#include "property/stage.hpp"
#include "support/checked.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace property_test {

// Stops the target of `stage` at the scene's instant, and records what is reported of it.
struct Stopping {
  explicit Stopping(Stage& s) : stage(s) {
    stage.act([this] {
      result = stage.target_agent().stop(
          {.on_settled = [this](const agentcore::StopReport& r) { reports.push_back(r); }});
    });
    RC_ASSERT((result.accepted() && result.took_effect() && result.quiet &&
               result.reason == agentcore::Errc::none));
  }
  // Plays what follows, to the end.
  void finish(const std::function<void()>& check = [] {}) {
    stage.play_after(check);
    stage.rest();
    check();
    RC_ASSERT(stage.broken() == "");
    RC_ASSERT(reports.size() == 1U);
  }

  Stage& stage;
  agentcore::VerbResult result;
  agentcore::test::Checked<agentcore::StopReport> reports;
};

inline bool is_stop_state(std::optional<agentcore::AgentState> state) {
  return state && agentcore::is_stopped(*state);
}

// What a history becomes when its agent is stopped.
inline std::string interrupted(const Stage& stage, std::size_t i) {
  return stage.marked(i, "!stopped");
}

// The late outcomes of model calls that were told as dropped. (Tools deliver late results, too.)
inline std::size_t late_answers(const Stage& stage, std::size_t i) {
  std::size_t answers = 0;
  for (const std::string& line : stage.told("discarded", i))
    answers += line.ends_with(" tool result") ? 0U : 1U;
  return answers;
}

// What was told of the agent, to compare a cascade with direct verbs. The stop tokens of its calls are
// triggered in an order that depends on the verb, and what ends a call may deliver its result at once.
inline std::string told_of(const Stage& stage, std::string_view what, std::size_t i) {
  std::vector<std::string> lines = stage.told(what, i);
  return text(what == "discarded" ? sorted(std::move(lines)) : lines);
}

// No client ends a call because it is stopped.
inline Scene with_deaf_models(Scene scene) {
  for (Member& member : scene.members) member.on_stop = agentcore::test::OnStop::deaf;
  return scene;
}

// To compare a cascade with direct verbs. An agent settles after the agents below that are stopped with it,
// and its parent's call ends then: so either no call outlasts a stop, or no agent waits for another one.
inline Scene with_equal_ends(Scene scene, bool may_linger) {
  for (Member& member : scene.members) {
    if (may_linger && member.work == Work::child) member.work = Work::tool;
    if (!may_linger && member.on_stop == agentcore::test::OnStop::deaf)
      member.on_stop = agentcore::test::OnStop::at_once;
  }
  // Polls: all calls are cut then, and each level of a cascade settles after the one below it.
  scene.after.insert(scene.after.begin(), scene.members.size() + 1, Step{});
  return scene;
}

}  // namespace property_test
