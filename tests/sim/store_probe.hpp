// StoreProbe: what a restart makes of a copy of the records in which one is damaged, or without a part of the
// code (G14). Written from AgentTree::restore(), not from the code.
#pragma once

#include "sim/verdict.hpp"
#include "support/clients/fake_client.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/memory_store.hpp>
#include <agentcore/runtime.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace agentcore::sim {

class StoreProbe {
 public:
  StoreProbe(Verdict& verdict, Clock& clock, const MemoryStore& records, InterruptedTurns turns);

  // One record is changed: `which` and `how` choose. Returns what came of it, for the counts.
  std::string damage(std::uint32_t which, std::uint32_t how);
  // A handler and a policy are not there. `handled`: agents that are known to have a handler.
  void lose_code(const std::set<std::string>& handled);

 private:
  struct Seen {
    AgentState state = AgentState::idle;
    std::string parent, history;
    bool is_paused = false, is_held = false, is_unbound = false;
    Errc unreadable = Errc::none;
    std::vector<MessageId> queue;
  };
  // A process that restores from its own copy.
  struct Life {
    Life(Clock& clock, const MemoryStore& from);

    MemoryStore records;
    Runtime runtime;
    test::FakeClient llm;
    AgentTree tree;
    std::map<std::string, Seen> agents;
    std::map<std::string, std::string> damage;  // AgentRestored::damage
    std::set<std::string> unbound;
    std::set<MessageId> dropped;
    Subscription events;
  };

  Result<RestoreReport> restore(Life& life, bool complete) const;
  static std::map<RecordKey, std::string> records_of(MemoryStore& store);
  void check_refused(Life& life, const Error& error, const std::map<RecordKey, std::string>& before) const;
  void check_others(const Life& life, bool some_are_deleted) const;
  void check_unreadable(Life& life) const;

  Verdict& verdict_;
  Clock& clock_;
  const InterruptedTurns turns_;
  std::unique_ptr<Life> plain_;  // without a damage
};

// Code of another process: functions that do nothing.
CodeRegistry code_of_another(test::FakeClient& llm, bool complete);

}  // namespace agentcore::sim
