// Options and results of pause() and unpause().
#pragma once

#include <agentcore/verbs.hpp>

#include <functional>
#include <string>

namespace agentcore {

/// Options of pause().
///
///     agentcore::VerbResult paused = agent.pause(
///         {.reason = "the game is paused", .on_rest = [] { std::puts("nothing runs any more"); }});
struct PauseOptions {
  /// For the log and PauseChanged.
  std::string reason = {};
  /// Called once on the loop thread when nothing runs any more in the agent and its descendants, just after
  /// the event PauseSettled. Not called if the agent was paused already, or if the agent is unpaused or
  /// deleted, or the tree or the Runtime is destroyed before. An exception is caught and logged.
  std::function<void()> on_rest = {};
};

/// The result of unpause().
///
///     agentcore::UnpauseResult result = agent.unpause();
///     if (result.still_paused) std::printf("still paused by %s\n", result.paused_by.c_str());
struct [[nodiscard]] UnpauseResult : VerbResult {
  /// True: an ancestor is paused, and with it this agent.
  bool still_paused = false;
  /// The id of the nearest ancestor that is paused. Empty: none, or AgentTree::pause_all().
  std::string paused_by = {};
};

}  // namespace agentcore
