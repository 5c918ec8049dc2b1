// Calls: what is said of tool calls agrees with what the tools have noted themselves (G9, G10). Written from
// docs/guarantees.md and the headers, not from the code.
#pragma once

#include <agentcore/event.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace agentcore::interleaved {

// `holds`, the rule, and what was seen.
using Require = std::function<void(bool, std::string_view, const std::string&)>;

class Calls {
 public:
  explicit Calls(Require require) : require_(std::move(require)) {}

  // The function of the tool begins. Each call of the simulated models has an id of its own.
  void begins(const std::string& agent, const std::string& call_id) {
    Call& call = calls_[call_id];
    require_(!call.begun, "G9", "a tool call begins twice");
    require_(!call.never, "G9", "a tool call begins that was reported as not_started");
    call.begun = true;
    ++of_[agent].results_at_most;
  }
  // Agent::complete_call() has returned `done`.
  void completed_by_host(const std::string& agent) { ++of_[agent].results_at_most; }
  bool has_ended(const std::string& call_id) const {
    const auto found = calls_.find(call_id);
    return found != calls_.end() && found->second.ended;
  }

  void see(const Event& event) {
    if (const auto* const late = event.get<Discarded>(); late && late->kind == LateResult::tool_result)
      ++of_[event.agent().id()].results;
    if (const auto* const started = event.get<ToolStarted>();
        started && (started->tool == "ask" || started->tool == "helper")) {
      calls_[started->call_id].of_agent = true;
      ++of_[event.agent().id()].results_at_most;
    }
    const auto* const ended = event.get<ToolEnded>();
    if (!ended) return;
    Call& call = calls_[ended->call_id];
    require_(!call.ended, "G10", "a tool call ends twice");
    call.ended = true;
    call.never = ended->outcome == ToolOutcome::not_started;
    require_(!(call.never && call.begun), "G9", "a tool call that has begun is reported as not_started");
    if (ended->outcome != ToolOutcome::completed) return;
    require_(ended->by_host || call.begun || call.of_agent, "G9",
             "a tool call that has not begun is reported as completed");
    ++of_[event.agent().id()].results;
  }
  // Each result is the one of its call, or is reported as dropped, and not both.
  void check_end() const {
    for (const auto& [id, agent] : of_)
      require_(agent.results <= agent.results_at_most, "G10",
               id + " has " + std::to_string(agent.results) + " results of tools, and there were " +
                   std::to_string(agent.results_at_most));
  }

 private:
  struct Call {
    bool begun = false;
    bool ended = false;
    bool never = false;     // it has ended as not_started
    bool of_agent = false;  // another agent does it
  };
  struct OfAgent {
    std::size_t results_at_most = 0;  // of tools that have begun, and of the host
    std::size_t results = 0;          // that were taken or reported as dropped
  };

  const Require require_;
  std::map<std::string, Call> calls_;
  std::map<std::string, OfAgent> of_;
};

}  // namespace agentcore::interleaved
