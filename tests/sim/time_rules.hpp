// TimeRules: when the calls of tools time out (ToolSpec::timeout, G9, G15). Written from tool.hpp and
// agent_tree.hpp, not from the code.
#pragma once

#include "sim/call_key.hpp"
#include "sim/verdict.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>
#include <agentcore/tool.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::sim {

class TimeRules {
 public:
  TimeRules(Verdict& verdict, const Clock& clock) : verdict_(verdict), clock_(clock) {}

  // The function of the tool begins.
  void begun(const ToolContext& context, Duration timeout);
  // It has given a result.
  void gave(const std::string& agent, const std::string& call_id);
  void see(const Event& event);
  // Nothing is due now.
  void check_quiet() const;
  void process_ended() { calls_.clear(); }

 private:
  struct Call {
    std::string agent;
    TimePoint until = {};
    bool is_task = false;
    std::optional<TimePoint> gave = {};
  };
  void end(const std::string& key, std::string_view message);

  Verdict& verdict_;
  const Clock& clock_;
  std::map<std::string, Call> calls_;  // that run, by their keys
};

}  // namespace agentcore::sim
