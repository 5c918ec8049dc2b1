// People: those who use the console, and what they have seen of it.
#pragma once

#include "sim/console_client.hpp"
#include "sim/event_viewer.hpp"
#include "sim/report_rules.hpp"
#include "sim/task_rules.hpp"
#include "sim/verdict.hpp"
#include "support/observe/host_code.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/stop_audit.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::sim {

// What agents have spent in this process.
struct UsageSeen {
  std::uint64_t turns = 0, tokens = 0;
};

class People final : public StopAudit {
 public:
  People(Verdict& verdict, const Clock& clock, ReportRules& reports)
      : viewers{{{verdict, false}, {verdict, true}}}, tasks(verdict, clock), reports_(reports) {}

  // The records that the console has as receipts.
  void record(const StopRecord& record) override {
    {
      const test::HostCode host;
      receipts.push_back(std::string(to_string(record.verb)) + ' ' + record.agent_id);
    }
    reports_.record(record);
  }
  // What the viewers must have seen.
  void see(const Event& event);
  void tree_ended();
  void process_ended();
  void leaves(ConsoleClient& client, bool in_order);

  std::array<ConsoleClient, 2> clients;
  std::array<EventViewer, 2> viewers;  // the second one reads late
  TaskRules tasks;
  std::string cookie;
  TimePoint cookie_since = {};
  bool has_logged_out = false;
  std::set<std::string> created;  // agents that the store has, as the console has said

  std::vector<std::string> receipts;
  std::vector<std::string> lines;
  std::map<TextKey, std::string> texts;
  std::map<std::string, UsageSeen> spent;

  // Or a request for that has no answer yet.
  bool may_have_logged_out();
  bool is_asking() const {
    for (const ConsoleClient& client : clients)
      if (!client.asked().empty() || client.has_left()) return true;
    return false;
  }

 private:
  void may_have_effect(ConsoleClient& client);

  ReportRules& reports_;
};

}  // namespace agentcore::sim
