// Documents: agents that were exported, and what rules know of them.
#pragma once

#include "sim/budget_rules.hpp"
#include "sim/document_rules.hpp"
#include "sim/gate_rules.hpp"
#include "sim/turn_rules.hpp"
#include "sim/verdict.hpp"

#include <deque>
#include <map>
#include <optional>
#include <string>

namespace agentcore::sim {

struct ExportedAgents {
  struct More {
    GateRules::Own own = {};
    std::optional<TurnRules::Limits> limits = {};
    BudgetRules::Budgets budgets = {};
    bool resumes_by_itself = false;
  };
  DocumentRules::Document seen;
  std::map<std::string, More> more;  // by the id of the agent
};

struct Documents {
  explicit Documents(Verdict& verdict) : rules(verdict) {}

  DocumentRules rules;
  std::deque<ExportedAgents> all;  // the newest first
};

}  // namespace agentcore::sim
