// TransferRules: what the requests of agents may be, and when they end (G1, G4, G5, G8). Written from
// the headers, not from the code.
#pragma once

#include "sim/gate_rules.hpp"
#include "sim/http_models.hpp"
#include "sim/verdict.hpp"

#include <agentcore/event.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace agentcore::sim {

class TransferRules {
 public:
  TransferRules(Verdict& verdict, GateRules& gates) : verdict_(verdict), gates_(gates) {}

  // The client of an agent begins a request; `paused_meanwhile`: a callback of that client has paused one.
  void begun(const std::string& agent, bool paused_meanwhile);
  // The request goes out. `left`: a stop has left what was in flight to the next poll (StopCut).
  void sent(const Sent& request, bool left);
  void ended(const Ended& transfer);
  void see(const Event& event);
  void process_ended();

  // After a verb that cuts at once: what is closed has no transfer that goes on.
  void check_cut(const HttpModels& models);
  // Nothing is left to do now: what was cut has ended, and each transfer belongs to a turn.
  void check_quiet(const HttpModels& models, const AgentTree& tree);
  // Between polls: each transfer of a router has its slot, and only those.
  void check_slots(const HttpModels& models, const Setup& setup);
  // At rest.
  void check_end(const HttpModels& models);

 private:
  struct Call {
    std::string agent;
    std::uint64_t turn = 0;
  };
  // Tokens of the answers of a turn: of those that have arrived, and of all that the servers have counted.
  struct Counted {
    std::uint64_t arrived = 0, most = 0;
  };
  void check_usage(const TurnResult& result, const std::string& agent);

  Verdict& verdict_;
  GateRules& gates_;
  std::map<std::uint64_t, Call> open_;
  std::map<std::string, Counted> turns_;  // in the turn in progress, whose beginning was seen
};

}  // namespace agentcore::sim
