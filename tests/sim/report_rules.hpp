// ReportRules: what a stop or a delete reports to its caller and to the StopAudit (G4), and that it settles
// in time.
#pragma once

#include "sim/gate_rules.hpp"
#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>
#include <agentcore/stop_audit.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>

namespace agentcore::sim {

class ReportRules final : public StopAudit {
 public:
  ReportRules(Verdict& verdict, const GateRules& gates) : verdict_(verdict), gates_(gates) {}

  // A verb gets a callback of that number. due(): it was accepted, and the callback must come.
  std::size_t add() noexcept { return ++last_; }
  void due(std::size_t number) { reports_[number].due = true; }
  void called(std::size_t number);

  // How long a stop waits at most.
  void grace(Duration grace);
  void see(const Event& event, TimePoint now);
  void record(const StopRecord& record) override;
  // Memory has failed: a record may lack operations.
  void may_be_incomplete() { complete_ = false; }
  // A poll goes on with what an earlier one has left: a grace period begins when the loop has walked all
  // agents.
  void goes_on(TimePoint now) { last_close_ = std::max(last_close_, now); }
  // Nothing is due any more.
  void check_quiet(const AgentTree& tree, TimePoint now);
  // The tree is at rest.
  void check_end();
  // No callback follows.
  void tree_ended();

 private:
  struct Report {
    bool due = false;
    std::size_t calls = 0;
  };

  Verdict& verdict_;
  const GateRules& gates_;
  std::size_t last_ = 0;
  std::map<std::size_t, Report> reports_;
  struct Closing {
    StopCause cause = StopCause::user;
    bool deletes = false;
    bool had_settled = false;  // by an earlier stop
  };
  std::map<std::string, Closing> unsettled_;  // agents that are stopped or deleted, without a Settled
  Duration longest_grace_ = Duration(0);
  TimePoint last_close_ = {};  // when the last grace period began, at the latest
  bool complete_ = true;
};

}  // namespace agentcore::sim
