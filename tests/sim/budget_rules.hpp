// BudgetRules: what agents and subtrees use of their budgets, what the budgets allow, and whom they stop
// (G15). Written from budget.hpp, not from the code.
#pragma once

#include "sim/gate_rules.hpp"
#include "sim/verdict.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/agent_tree.hpp>
#include <agentcore/budget.hpp>
#include <agentcore/event.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace agentcore::sim {

class BudgetRules {
 public:
  using Limits = std::pair<Budget, Budget>;  // its own, and those of its subtree
  // The budgets of an agent; empty: not known. Those of its spec are what a fork gets.
  struct Budgets {
    std::optional<Budget> own, subtree;
    std::optional<Limits> of_spec;
  };

  BudgetRules(Verdict& verdict, const GateRules& gates) : verdict_(verdict), gates_(gates) {}

  // What commands have made, with that spec.
  void created(const std::string& id, const AgentSpec& spec);
  void forked(const std::string& from, const std::string& id);
  // `in_callback`: events of what came before may still be to come. `is_closed`: perhaps by the budget that
  // it replaces.
  void granted(const std::string& id, Scope scope, const Budget& budget, bool in_callback, bool is_closed);
  // For a document, and of an agent that is made of it.
  Budgets budgets_of(const std::string& id) const;
  void imported(const Agent& agent, const Budgets& budgets);

  // The model call of a turn begins. `most`: the tokens of its answer; empty: it may be a further attempt, or
  // have waited for a slot.
  void model_call_begins(const std::string& agent, std::uint64_t turn,
                         std::optional<std::uint64_t> most = {});
  void model_call_ended(const std::string& agent) { calls_.erase(agent); }
  void see(const Event& event);
  // The process has ended; agents may be restored. `is_exact`: the store has all that was seen.
  void process_ended(bool is_exact);
  // Nothing is due, and no event is still to come.
  void check(const AgentTree& tree) const;

 private:
  using Key = std::pair<std::string, Scope>;
  struct Amount {
    std::uint64_t turns = 0, tokens = 0;
    double cost = 0;
  };
  // What was used lies between the two.
  struct Account {
    Budget budget;
    Amount least, most;
    std::uint64_t grant = 0;  // its number
    bool is_known = true;
    bool has_changed = true;    // in this process
    bool is_overdrawn = false;  // its owner is to be stopped
    bool may_stop = false;      // its owner was closed when it was granted
  };
  struct Call {
    std::uint64_t answer = 0;  // its tokens that are reserved
    std::uint64_t grants = 0;  // that were before it
  };
  struct Turn {
    std::map<Key, std::uint64_t> draws_on;  // the numbers of the grants
    bool has_called = false;
  };
  struct Stored {
    Account account;
    bool is_exact = false;
  };

  std::vector<Key> accounts_of(const std::string& id) const;  // on which an agent draws
  void begin(const std::string& id, const Limits& limits);
  Account& open(const Key& key, const Budget& budget);
  bool is_same(const Turn& turn, const Key& key, const Account& account) const;
  void restored(const Agent& agent);
  void end(const TurnEnded& ended, const std::string& id);
  void check_stop(const StateChanged& change, const std::string& id) const;
  void check_account(const Agent& agent, const Key& key, const Account& account) const;
  void check_spent(const Spent& spent, const Key& key, const Account& account, bool is_exact) const;

  Verdict& verdict_;
  const GateRules& gates_;
  std::map<Key, Account> accounts_;
  std::map<Key, Stored> before_;  // the end of the process
  std::map<std::string, Limits> specs_;
  std::map<std::pair<std::string, std::uint64_t>, Turn> turns_;  // in progress
  std::map<std::string, Call> calls_;                            // in flight
  std::uint64_t grants_ = 0;
};

}  // namespace agentcore::sim
