#include "sim/budget_rules.hpp"

#include <algorithm>

namespace agentcore::sim {
namespace {

constexpr std::uint64_t usual_answer = 4'096;  // of budget.hpp
constexpr std::uint64_t most_tokens = no_limit;
constexpr double rounding = 1e-9, most_cost = 1e15;

bool is_about(double one, double other) {
  return one - other < rounding && other - one < rounding;
}

bool is_beyond(const Budget& budget, std::uint64_t tokens, double cost) {
  return (budget.tokens != no_limit && tokens > budget.tokens) ||
         (budget.cost != no_limit && cost > budget.cost + rounding);
}

const char* name_of(Scope scope) {
  return scope == Scope::agent ? " of its own" : " of its subtree";
}

}  // namespace

std::vector<BudgetRules::Key> BudgetRules::accounts_of(const std::string& id) const {
  std::vector<Key> keys = {{id, Scope::agent}};
  for (std::string at = id; !at.empty(); at = gates_.parent_of(at)) keys.emplace_back(at, Scope::subtree);
  std::erase_if(keys, [this](const Key& key) {
    const auto account = accounts_.find(key);
    return account == accounts_.end() || !account->second.budget.limits();
  });
  return keys;
}

BudgetRules::Account& BudgetRules::open(const Key& key, const Budget& budget) {
  Account& account = accounts_[key];
  account = {};
  account.budget = budget;
  account.grant = ++grants_;
  return account;
}

void BudgetRules::created(const std::string& id, const AgentSpec& spec) {
  begin(id, {spec.limits.budget, spec.limits.subtree_budget});
}

void BudgetRules::forked(const std::string& from, const std::string& id) {
  if (const auto spec = specs_.find(from); spec != specs_.end()) begin(id, Limits(spec->second));
}

void BudgetRules::begin(const std::string& id, const Limits& limits) {
  specs_[id] = limits;
  const auto add = [&](Scope scope, const Budget& budget) {
    const auto found =
        accounts_.find({id, scope});  // a callback of its creation may have granted another one
    if (found == accounts_.end() || found->second.is_known) open({id, scope}, budget);
  };
  add(Scope::agent, limits.first);
  add(Scope::subtree, limits.second);
}

void BudgetRules::granted(const std::string& id, Scope scope, const Budget& budget, bool in_callback,
                          bool is_closed) {
  Account& account = open({id, scope}, budget);
  account.is_known = !in_callback;
  account.may_stop = is_closed;
}

BudgetRules::Budgets BudgetRules::budgets_of(const std::string& id) const {
  Budgets found;
  const auto own = accounts_.find({id, Scope::agent}), subtree = accounts_.find({id, Scope::subtree});
  if (own != accounts_.end() && own->second.is_known) found.own = own->second.budget;
  if (subtree != accounts_.end() && subtree->second.is_known) found.subtree = subtree->second.budget;
  if (const auto spec = specs_.find(id); spec != specs_.end()) found.of_spec = spec->second;
  return found;
}

// What was used of them is in the document, too: see DocumentRules.
void BudgetRules::imported(const Agent& agent, const Budgets& budgets) {
  const std::string id = agent.id();
  const auto add = [&](Scope scope, const std::optional<Budget>& budget, const Result<Spent>& spent) {
    const auto found = accounts_.find({id, scope});  // as in begin()
    if (found != accounts_.end() && !found->second.is_known) return;
    accounts_.erase({id, scope});
    if (!budget || !spent) return;
    Account& account = open({id, scope}, *budget);
    account.least = account.most = {spent.value().turns, spent.value().tokens, spent.value().cost};
  };
  add(Scope::agent, budgets.own, agent.spent());
  add(Scope::subtree, budgets.subtree, agent.spent(Scope::subtree));
  specs_.erase(id);
  if (budgets.of_spec) specs_[id] = *budgets.of_spec;
}

bool BudgetRules::is_same(const Turn& turn, const Key& key, const Account& account) const {
  const auto draws = turn.draws_on.find(key);
  return draws != turn.draws_on.end() && draws->second == account.grant;
}

void BudgetRules::model_call_begins(const std::string& agent, std::uint64_t turn,
                                    std::optional<std::uint64_t> most) {
  if (turn == 0) return;
  const bool is_retry = !most && calls_.contains(agent);
  calls_[agent] = {most.value_or(usual_answer), grants_};
  const std::vector<Key> keys = accounts_of(agent);
  const auto [found, is_new] = turns_.try_emplace({agent, turn});
  Turn& one = found->second;
  for (const Key& key : keys) {
    Account& account = accounts_.at(key);
    if (is_new) ++account.most.turns;  // it goes on after a restart
    if (!one.has_called && is_same(one, key, account)) ++account.least.turns;
    if (!account.is_known || is_retry) continue;
    const std::string whose = key.first + name_of(key.second);
    verdict_.require(account.least.turns <= account.budget.turns, "budgets",
                     "a model call of " + agent + " in a turn that no budget covers: " + whose);
    const std::uint64_t tokens = account.budget.tokens;
    // What waits for a slot has been reserved before.
    const bool has_room = most ? account.least.tokens < tokens : account.least.tokens <= tokens;
    verdict_.require(tokens == no_limit || has_room || (!most && !is_same(one, key, account)), "budgets",
                     "a model call of " + agent + ", and no token is left: " + whose);
    verdict_.require(account.budget.cost == no_limit || account.least.cost <= account.budget.cost + rounding,
                     "budgets", "a model call of " + agent + ", and its cost is used up: " + whose);
    if (!most || tokens == no_limit) continue;
    std::uint64_t taken = account.least.tokens;
    for (const auto& [other, call] : calls_) {
      if (call.grants < account.grant) continue;
      const std::vector<Key> others = accounts_of(other);
      if (std::ranges::find(others, key) != others.end()) taken += call.answer;
    }
    verdict_.require(taken <= tokens, "budgets",
                     "the answers of open calls may have more than is left: " + whose);
  }
  one.has_called = true;
}

void BudgetRules::end(const TurnEnded& ended, const std::string& id) {
  const auto found = turns_.extract({id, ended.turn});
  const Turn turn = found ? found.mapped() : Turn();
  calls_.erase(id);
  const Usage& used = ended.result->usage;
  const double cost = ended.result->cost.value_or(0);
  for (const Key& key : accounts_of(id)) {
    Account& account = accounts_.at(key);
    if (used.complete) {
      account.most.tokens += std::min(used.total_tokens, most_tokens - account.most.tokens);
      account.most.cost += cost;
    } else {  // the library has counted by itself
      account.most.tokens = most_tokens;
      account.most.cost = most_cost;
    }
    if (!is_same(turn, key, account)) continue;
    const bool was_beyond = is_beyond(account.budget, account.least.tokens, account.least.cost);
    account.least.tokens += used.total_tokens;
    account.least.cost += cost;
    if (!was_beyond && is_beyond(account.budget, account.least.tokens, account.least.cost))
      account.is_overdrawn = true;
  }
}

// A stop by the library itself.
void BudgetRules::check_stop(const StateChanged& change, const std::string& id) const {
  bool may_be = false;
  for (const Scope scope : {Scope::agent, Scope::subtree}) {
    const auto found = accounts_.find({id, scope});
    if (found == accounts_.end() || !found->second.is_known) return;
    const Account& account = found->second;
    const Budget& budget = account.budget;
    may_be = may_be || account.may_stop || budget.tokens != no_limit || budget.cost != no_limit ||
             budget.wall_clock != no_limit ||
             (budget.turns != no_limit && account.most.turns >= budget.turns);
  }
  verdict_.require(
      may_be, "budgets",
      id + " is stopped for a budget that is not used up: " + std::string(change.origin.reason()));
}

void BudgetRules::restored(const Agent& agent) {
  const std::string id = agent.id();
  for (const Scope scope : {Scope::agent, Scope::subtree}) {
    const auto found = before_.extract({id, scope});
    const auto spent = agent.spent(scope);
    // A callback of the restore may have granted another one before this event.
    if (!found || !spent || accounts_.contains({id, scope})) continue;
    const Stored& stored = found.mapped();
    const Key key{id, scope};
    if (stored.account.is_known) check_spent(spent.value(), key, stored.account, stored.is_exact);
    Account& account = accounts_[key] = stored.account;
    account.least = account.most = {spent.value().turns, spent.value().tokens, spent.value().cost};
    account.is_overdrawn = false;
  }
}

void BudgetRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentDeleted>() != nullptr) {
    accounts_.erase({id, Scope::agent});
    accounts_.erase({id, Scope::subtree});
    specs_.erase(id);
    calls_.erase(id);
  }
  if (event.get<AgentRestored>() != nullptr) restored(event.agent());
  if (const auto* started = event.get<TurnStarted>()) {
    Turn& turn = turns_[{id, started->turn}];
    for (const Key& key : accounts_of(id)) {
      Account& account = accounts_.at(key);
      ++account.most.turns;
      turn.draws_on[key] = account.grant;
    }
  }
  if (event.get<ModelCallEnded>() != nullptr || event.get<ToolStarted>() != nullptr) calls_.erase(id);
  if (const auto* ended = event.get<TurnEnded>()) end(*ended, id);
  if (const auto* change = event.get<StateChanged>()) {
    const bool opens = !can_process(change->from) && can_process(change->to);
    for (const Scope scope : {Scope::agent, Scope::subtree})
      if (const auto found = accounts_.find({id, scope}); opens && found != accounts_.end())
        found->second.is_overdrawn = false;
    const bool is_by_host = change->origin.reason().starts_with("SECRET");
    if (change->to == AgentState::stopping && change->cause == StopCause::budget && !is_by_host)
      check_stop(*change, id);
  }
}

void BudgetRules::process_ended(bool is_exact) {
  std::set<Key> in_turn;
  for (const auto& [turn, _] : turns_)
    for (const Key& key : accounts_of(turn.first)) in_turn.insert(key);
  before_.clear();
  for (auto& [key, account] : accounts_) {
    account.is_known = account.is_known && (is_exact || !account.has_changed);
    account.has_changed = false;
    if (in_turn.contains(key)) account.most = {no_limit, no_limit, most_cost};
    before_[key] = {account, is_exact};
  }
  if (!is_exact) specs_.clear();  // the store may have an earlier agent of that id
  accounts_.clear();
  turns_.clear();
  calls_.clear();
}

void BudgetRules::check_spent(const Spent& spent, const Key& key, const Account& account,
                              bool is_exact) const {
  const auto require = [&](bool holds, const std::string& what) {
    verdict_.require(holds, "budgets", what + name_of(key.second) + " budget: " + key.first);
  };
  const Amount& least = is_exact ? account.least : Amount();
  const Amount& most = account.most;
  require(spent.turns >= least.turns && spent.turns <= most.turns,
          std::to_string(spent.turns) + " turns, and not " + std::to_string(least.turns) + " to " +
              std::to_string(most.turns) + ", are used");
  require(spent.tokens >= least.tokens && spent.tokens <= most.tokens,
          std::to_string(spent.tokens) + " tokens, and not " + std::to_string(least.tokens) + " to " +
              std::to_string(most.tokens) + ", are used");
  require(spent.cost >= least.cost - rounding && spent.cost <= most.cost + rounding,
          "a cost of " + std::to_string(spent.cost) + ", and not " + std::to_string(least.cost) + " to " +
              std::to_string(most.cost) + ", is used");
}

void BudgetRules::check_account(const Agent& agent, const Key& key, const Account& account) const {
  const auto spent = agent.spent(key.second);
  const auto state = agent.state();
  if (!spent || !state) return;
  if (!account.budget.limits()) {
    verdict_.require(spent.value().turns == 0 && spent.value().tokens == 0 && is_about(spent.value().cost, 0),
                     "budgets", "without a limit something is counted: " + key.first);
    return;
  }
  Account now = account;
  for (const auto& [turn, _] : turns_) {  // what the calls of a turn have used so far is not known
    const std::vector<Key> keys = accounts_of(turn.first);
    if (std::ranges::find(keys, key) != keys.end()) now.most.tokens = no_limit, now.most.cost = most_cost;
  }
  check_spent(spent.value(), key, now, true);
  const bool is_person = agent.role().value_or(AgentRole::normal) == AgentRole::user;
  verdict_.require(!account.is_overdrawn || is_person || !can_process(state.value()), "budgets",
                   key.first + " has used more than the budget" + name_of(key.second) + ", and goes on");
}

void BudgetRules::check(const AgentTree& tree) const {
  for (const auto& [key, account] : accounts_) {
    if (!account.is_known) continue;
    if (const auto agent = tree.find(key.first)) check_account(agent.value(), key, account);
  }
}

}  // namespace agentcore::sim
