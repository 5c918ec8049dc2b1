// Waits: what the turn of an agent waits for, as a person sees it from outside. For coverage.
#pragma once

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace agentcore::sim {

enum class Wait : std::uint8_t {
  nothing,     // no turn runs
  model,       // a model call that has sent nothing
  text,        // one that has sent text or reasoning
  retry,       // the router's next attempt
  summary,     // a compaction
  start,       // a tool call that has not begun: the executor, or the commit of its intent
  tool,        // a tool call
  approval,    // a person's approval
  answer,      // a person's answer
  background,  // no turn runs, a background task does
  pause,       // the end of a pause: nothing is in flight
  next_step,   // a poll, or a commit: nothing is in flight
  grace,       // an operation that was stopped and has not ended
  last
};
constexpr std::size_t wait_count = static_cast<std::size_t>(Wait::last);
constexpr std::string_view to_string(Wait wait) noexcept {
  constexpr std::array<std::string_view, wait_count> names = {
      "nothing",  "model",  "text",       "retry", "summary",   "start", "tool",
      "approval", "answer", "background", "pause", "next_step", "grace"};
  return names[static_cast<std::size_t>(wait)];
}

class Waits {
 public:
  void see(const Event& event);
  void retries(std::string_view agent_id) { calls_[std::string(agent_id)] = Wait::retry; }
  // A tool has begun.
  void begins(const std::string& call_id) { begun_.insert(call_id); }
  void process_ended() {
    calls_.clear();
    begun_.clear();
  }
  Wait of(const AgentTree& tree, const Agent& agent) const;

 private:
  std::map<std::string, Wait> calls_;  // of agents: what is known of their model call
  std::set<std::string> begun_;        // tool calls
};

}  // namespace agentcore::sim
