#include "sim/report_rules.hpp"

#include "support/observe/host_code.hpp"

#include <algorithm>
#include <set>

namespace agentcore::sim {

void ReportRules::called(std::size_t number) {
  verdict_.require(++reports_[number].calls == 1, "reports", "a verb has called on_settled or on_rest twice");
}

void ReportRules::grace(Duration grace) {
  longest_grace_ = std::max(longest_grace_, grace);
}

void ReportRules::see(const Event& event, TimePoint now) {
  const std::string id = event.agent().id();
  if (const auto* change = event.get<StateChanged>()) {
    if (can_process(change->to)) {
      unsettled_.erase(id);
    } else {
      const bool had_settled = change->from == AgentState::stopped;
      unsettled_[id] = {change->cause, change->to == AgentState::terminating, had_settled};
      last_close_ = std::max(last_close_, now);
    }
  }
  if (event.get<AgentCreated>() != nullptr || event.get<AgentRestored>() != nullptr) unsettled_.erase(id);
  if (event.get<Settled>() == nullptr && event.get<AgentDeleted>() == nullptr) return;
  const auto own = unsettled_.find(id);
  const bool is_delete = own != unsettled_.end() && own->second.deletes;
  // One with a stop of its own may have a longer grace period. After a stop without a cascade agents that do
  // a call are deleted, but are no part of it; nor is the delete of what had settled before.
  for (const std::string& below : gates_.is_stopped_alone(id) ? std::set{id} : gates_.subtree(id)) {
    const auto found = unsettled_.find(below);
    if (below == id || found == unsettled_.end() || (found->second.had_settled && !is_delete)) continue;
    verdict_.require(found->second.cause != StopCause::parent, "reports",
                     id + " has settled before " + below + ", which is below it");
  }
  unsettled_.erase(id);
}

void ReportRules::record(const StopRecord& record) {
  const test::HostCode host;
  const std::string of = std::string(to_string(record.verb)) + " of " + record.agent_id;
  verdict_.require(record.after_gate == 0, "G1", "results were accepted behind a closed gate: " + of);
  verdict_.require(record.closed || record.when != StopWhen::now, "reports", "never closed: " + of);
  const TimePoint closed = record.closed ? record.closed->monotonic : record.called.monotonic;
  verdict_.require(record.called.monotonic <= closed && closed <= record.settled.monotonic, "reports",
                   "times that do not rise: " + of);
  verdict_.require(record.cascade || record.descendants.empty(), "reports",
                   "descendants without a cascade: " + of);
  verdict_.require(record.dropped_messages.size() == record.messages_dropped || !complete_, "reports",
                   "messages without their ids: " + of);
  // A restart does not read what an agent did that it deletes.
  const bool is_read = !record.restart || record.verb == StopVerb::stop;
  verdict_.require(record.complete || !complete_ || !is_read, "reports", "operations are missing: " + of);
}

void ReportRules::check_quiet(const AgentTree& tree, TimePoint now) {
  if (now <= last_close_ + longest_grace_) return;
  for (const auto& [id, closing] : unsettled_) {
    const auto agent = tree.find(id);
    if (!agent) continue;
    const AgentState state = agent.value().state().value();
    verdict_.require(state == AgentState::stopped || can_process(state), "reports",
                     "the grace period is over, and " + id + " is " + std::string(to_string(state)));
  }
}

void ReportRules::check_end() {
  for (const auto& [number, report] : reports_)
    verdict_.require(!report.due || report.calls == 1, "reports", "no on_settled of an accepted verb");
  for (const auto& [id, closing] : unsettled_) verdict_.fail("reports", "no Settled of " + id);
}

void ReportRules::tree_ended() {
  reports_.clear();
  unsettled_.clear();
}

}  // namespace agentcore::sim
