// BlockRules: an agent with ToolProtocol::text makes the calls that its model has written, in their order,
// and shows no part of them. Written from agent_spec.hpp, not from the code.
#pragma once

#include "sim/text_calls.hpp"
#include "sim/verdict.hpp"

#include <agentcore/event.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace agentcore::sim {

class BlockRules {
 public:
  explicit BlockRules(Verdict& verdict) : verdict_(verdict) {}

  // A model writes that to the agent.
  void said(const std::string& agent, const WrittenCalls& written);
  // What was said last is the whole answer, and the turn waits for it.
  void said_all(const std::string& agent);
  // Other bytes are between those of its model: the rest of its turn is not asked for.
  void garbled(const std::string& agent) { turns_.erase(agent); }
  // simulate() has accepted it.
  void simulated(MessageId id, const WrittenCalls& written) { simulated_[id] = {written, true}; }
  void edited(MessageId id) { simulated_.erase(id); }
  void see(const Event& event);
  void process_ended();

 private:
  struct Said {
    WrittenCalls written;
    bool is_all = false;
  };
  struct Turn {
    std::vector<Said> said;
    std::string shown;  // of the model call in progress
  };
  void check(const TurnEnded& ended, const std::string& agent, const std::vector<Said>& said);

  Verdict& verdict_;
  std::set<std::string> writers_;      // agents whose models write blocks
  std::map<std::string, Turn> turns_;  // whose beginning was seen
  std::map<MessageId, Said> simulated_;
  std::set<MessageId> perhaps_;  // simulated before a restart: another message may have the id now
};

}  // namespace agentcore::sim
