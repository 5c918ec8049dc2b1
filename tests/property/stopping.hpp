// Stopping: a stop on a stage, and the state after it.
#pragma once

#include "property/stage.hpp"
#include "support/checked.hpp"

#include <functional>
#include <optional>
#include <string>
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
  return stage.before.histories[i] +
         (stage.before.states[i] == agentcore::AgentState::waiting_llm ? "!stopped" : "");
}

// No client ends a call because it is stopped.
inline Scene with_deaf_models(Scene scene) {
  for (Member& member : scene.members) member.on_stop = agentcore::test::OnStop::deaf;
  return scene;
}

}  // namespace property_test
