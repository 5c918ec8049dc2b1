#include "sim/gate_rules.hpp"

#include "support/observe/host_code.hpp"

#include <algorithm>

namespace agentcore::sim {
namespace {

bool is_delegated(const std::string& id) {
  return id.starts_with('@');  // made by an agent tool
}

}  // namespace

void GateRules::created(const Agent& agent) {
  const std::string id = agent.id();
  deleted(id);  // a verb of a callback may have come after the end of an earlier agent of that id
  const auto parent = agent.parent();
  parents_[id] = parent ? parent.value().id() : std::string();
  children_[parents_[id]].insert(id);
  if (agent.role().value() == AgentRole::user) people_.insert(id);
  if (const auto from = imported_.extract(id)) imported(id, from.mapped().first, from.mapped().second);
}

void GateRules::deleted(const std::string& id) {
  if (const auto parent = parents_.find(id); parent != parents_.end()) {
    children_[parent->second].erase(id);
    parents_.erase(parent);
  }
  people_.erase(id);
  going_.erase(id);
  turns_.erase(id);
  own_.erase(id);
  leases_.erase(id);
  for (Closed* const closed : {&now_, &reported_}) {
    closed->agents.erase(id);
    closed->paused.erase(id);
    closed->turns.erase(id);
    closed->deferred.erase(id);
  }
}

void GateRules::forget() {
  parents_.clear();
  children_.clear();
  people_.clear();
  going_.clear();
  turns_.clear();
  own_.clear();
  imported_.clear();
  all_stopped_ = false;
  now_ = reported_ = {};
}

// A callback of the restore may have resumed it already.
void GateRules::restored(const Agent& agent) {
  const auto lease = leases_.find(agent.id());
  // Of two agents of that id the store may have kept the earlier one.
  const bool is_known = lease != leases_.end() && !replaced_.contains(agent.id());
  const std::optional<Duration> length = is_known ? std::optional(lease->second.length) : std::nullopt;
  created(agent);
  if (length) lease_begins(agent.id(), *length);  // in full
  if (!can_process(agent.state().value())) now_.agents.insert(agent.id());
}

GateRules::Own GateRules::own_of(const std::string& id) const {
  Own own;
  if (const auto stop = own_.find(id); stop != own_.end()) own.stop = stop->second;
  own.is_paused = now_.paused.contains(id);
  if (const auto lease = leases_.find(id); lease != leases_.end()) own.lease = lease->second.length;
  return own;
}

void GateRules::imported(const std::string& id, const Own& own, bool is_closed) {
  if (!parents_.contains(id)) {  // its AgentCreated is still to come
    imported_[id] = {own, is_closed};
    return;
  }
  if (own.lease) lease_begins(id, *own.lease);  // in full
  if (own.is_paused) paused(id, true);
  if (!is_closed) return;
  now_.agents.insert(id);
  if (own.stop) own_[id] = *own.stop;
}

std::set<std::string> GateRules::subtree(const std::string& id) const {
  const test::HostCode host;
  std::set<std::string> found;
  if (!id.empty()) add_below(id, found);
  return found;
}

void GateRules::add_below(const std::string& id, std::set<std::string>& found) const {
  if (!found.insert(id).second) return;
  for (const std::string& child : all_children(id)) add_below(child, found);
}

const std::set<std::string>& GateRules::all_children(const std::string& id) const {
  static const std::set<std::string> none;
  const auto found = children_.find(id);
  return found == children_.end() ? none : found->second;
}

void GateRules::stopped(const std::string& id, bool cascade) {
  own_[id] = own_[id] || cascade;
  if (cascade)
    now_.agents.merge(subtree(id));
  else
    now_.agents.insert(id);
}

void GateRules::goes(const std::string& id, bool with_forks) {
  const test::HostCode host;
  for (const std::string& below : subtree(id)) {
    if (!going_.insert(below).second || !with_forks) continue;
    const auto forks = forks_.find(below);
    if (forks == forks_.end()) continue;
    for (const std::string& fork : forks->second) goes(fork, true);
  }
}

std::vector<std::string> GateRules::children(const std::string& id) const {
  const test::HostCode host;
  std::vector<std::string> found;
  for (const std::string& child : all_children(id))
    if (!people_.contains(child)) found.push_back(child);
  return found;
}

void GateRules::stopped_all() {
  for (const auto& [id, parent] : parents_) now_.agents.insert(id);
  all_stopped_ = true;
}

void GateRules::deferred(const std::string& id, bool cascade, StopWhen when,
                         std::optional<TimePoint> escalates) {
  now_.deferred.emplace(id, Deferred{cascade, when == StopWhen::after_step, escalates});
  if (!id.empty()) own_[id] = own_[id] || cascade;
}

// With `cascade`: also what is below and has no stop of its own on the way.
void GateRules::open_below(const std::string& id, bool cascade, std::set<std::string>& opened) {
  const auto own = own_.find(id);
  if (own != own_.end() && own->second) return;
  if (own == own_.end()) {
    opened.insert(id);
    going_.erase(id);
    lease_renewed(id);
    for (Closed* const closed : {&now_, &reported_}) closed->agents.erase(id);
  }
  if (!cascade) return;
  for (const std::string& child : all_children(id)) open_below(child, true, opened);
}

std::set<std::string> GateRules::resumed(const std::string& id, bool cascade) {
  const test::HostCode host;
  std::set<std::string> opened;
  own_.erase(id);
  for (Closed* const closed : {&now_, &reported_}) closed->deferred.erase(id);
  open_below(id, cascade, opened);
  return opened;
}

std::set<std::string> GateRules::resumed_all() {
  const test::HostCode host;
  std::set<std::string> opened;
  all_stopped_ = false;
  for (Closed* const closed : {&now_, &reported_}) closed->deferred.erase(std::string());
  for (const std::string& root : all_children({})) open_below(root, true, opened);
  return opened;
}

void GateRules::paused(const std::string& id, bool paused) {
  pauses_ += paused ? 1 : 0;
  if (paused) {
    now_.paused.insert(id);
  } else {
    now_.paused.erase(id);
    reported_.paused.erase(id);
  }
}

void GateRules::paused_all(bool paused) {
  pauses_ += paused ? 1 : 0;
  now_.all_paused = paused;
  reported_.all_paused = reported_.all_paused && paused;
}

bool GateRules::is_paused(const Closed& closed, const std::string& id) const {
  if (closed.all_paused) return true;
  for (std::string at = id; !at.empty();) {
    if (closed.paused.contains(at)) return true;
    const auto parent = parents_.find(at);
    if (parent == parents_.end()) return false;
    at = parent->second;
  }
  return false;
}

bool GateRules::is_deferred(const Closed& closed, const std::string& id, bool model_call) const {
  const auto holds = [&](const std::string& of, bool itself) {
    const auto [first, last] = closed.deferred.equal_range(of);
    return std::any_of(first, last, [&](const auto& entry) {
      return (itself || entry.second.cascade) && (!model_call || entry.second.after_step);
    });
  };
  for (std::string at = id; !at.empty();) {
    if (holds(at, at == id)) return true;
    const auto parent = parents_.find(at);
    at = parent == parents_.end() ? std::string() : parent->second;
  }
  return holds({}, true);
}

void GateRules::model_call_begins(const std::string& id) {
  begins(id, "a model call");
  // What belongs to a call that had begun goes on: the turns of agents that do the call.
  verdict_.require(is_delegated(id) || !is_deferred(now_, id, true), "G1",
                   "a model call after a stop that takes effect after the step: " + id);
}

void GateRules::tool_begins(const std::string& id, bool handed_over) {
  arrives(id, "a tool");
  is_open(reported_, id, "a tool", !handed_over);
}

void GateRules::lease_begins(const std::string& id, Duration lease) {
  leases_[id] = {lease, clock_.now() + lease};
}

void GateRules::lease_renewed(const std::string& id) {
  const auto lease = leases_.find(id);
  if (lease != leases_.end()) lease->second.end = clock_.now() + lease->second.length;
}

bool GateRules::is_leased(const std::string& id) const {
  for (std::string at = id; !at.empty();) {
    const auto lease = leases_.find(at);
    if (lease != leases_.end() && clock_.now() >= lease->second.end) return false;
    const auto parent = parents_.find(at);
    at = parent == parents_.end() ? std::string() : parent->second;
  }
  return true;
}

void GateRules::answered(const Agent& agent, const SendResult& sent) {
  const auto status = agent.status();
  if (!status) return;  // it is gone
  const AgentStatus& is = status.value();
  const bool is_closed = !can_process(is.state) || is.stop_pending;
  const std::string to = " for " + agent.id() + ", which is " + std::string(to_string(is.state));
  if (sent)
    verdict_.require(!is_closed, "G12", "a message was accepted" + to);
  else if (sent.reason == Errc::agent_stopped || sent.reason == Errc::agent_stopping ||
           sent.reason == Errc::agent_terminating || sent.reason == Errc::agent_not_found)
    verdict_.require(is_closed, "G12",
                     "a message was refused as " + std::string(to_string(sent.reason)) + to);
}

std::uint64_t GateRules::turn_of(const std::string& id) const {
  const auto found = turns_.find(id);
  return found == turns_.end() ? 0 : found->second;
}

void GateRules::turn_cut(const std::string& id) {
  if (const std::uint64_t turn = turn_of(id)) now_.turns[id] = turn;
}

void GateRules::turns_cut_below(const std::string& id) {
  for (const std::string& below : subtree(id)) turn_cut(below);
}

void GateRules::is_open(const Closed& closed, const std::string& id, std::string_view what, bool begins) {
  verdict_.require(!closed.agents.contains(id), "G1", std::string(what) + " of a stopped agent: " + id);
  // An event may be delivered later than what it reports.
  verdict_.require(&closed == &reported_ || is_leased(id), "G1",
                   std::string(what) + " of an agent whose lease is over: " + id);
  // What belongs to a call that had begun goes on in a pause: the turns of agents that do the call.
  if (begins && !is_delegated(id))
    verdict_.require(!is_paused(closed, id), "G1", std::string(what) + " of a paused agent: " + id);
}

bool GateRules::is_cut(const std::string& id, std::uint64_t turn) const {
  const auto cut = now_.turns.find(id);
  return turn != 0 && cut != now_.turns.end() && cut->second == turn;
}

void GateRules::may_not_be_paused(const std::string& id, std::string_view what) {
  verdict_.require(is_delegated(id) || !is_paused(now_, id), "G1",
                   std::string(what) + " of a paused agent: " + id);
}

void GateRules::goes_out(const std::string& id, std::string_view what) {
  // The model call has begun before: at the end of a lease a timer ends it.
  verdict_.require(!now_.agents.contains(id), "G1", std::string(what) + " of a stopped agent: " + id);
  verdict_.require(!is_cut(id, turn_of(id)), "G1", std::string(what) + " of a turn that was ended: " + id);
}

void GateRules::in_turn(const std::string& id, std::uint64_t turn, std::string_view what) {
  is_open(reported_, id, what, false);
  const auto cut = reported_.turns.find(id);
  verdict_.require(cut == reported_.turns.end() || cut->second != turn, "G1",
                   std::string(what) + " of a turn that was ended: " + id);
}

void GateRules::see(const Event& event) {
  const std::string id = event.agent().id();
  if (event.get<AgentCreated>() != nullptr) created(event.agent());
  if (const auto* body = event.get<AgentRestored>()) {
    restored(event.agent());
    if (body->fate == RestoredTurn::continues) turns_[id] = body->turn;
  }
  // What a resume of an ancestor opens, on the loop thread, has its lease from then on.
  if (const auto* change = event.get<StateChanged>();
      change != nullptr && agentcore::is_stopped(change->from) && can_process(change->to))
    lease_renewed(id);
  if (event.get<AgentDeleted>() != nullptr) {
    deleted(id);
    replaced_.insert(id);
  }
  if (const auto* body = event.get<TurnStarted>()) {
    is_open(reported_, id, "a turn", true);
    verdict_.require(is_delegated(id) || !is_deferred(reported_, id, false), "G1",
                     "a turn after a deferred stop: " + id);
    turns_[id] = body->turn;
  }
  if (event.get<TurnEnded>() != nullptr) turns_.erase(id);
  if (const auto* body = event.get<DeltaReceived>()) in_turn(id, body->turn, "a text");
  if (const auto* body = event.get<ReasoningReceived>()) in_turn(id, body->turn, "reasoning");
  if (const auto* body = event.get<ToolStarted>()) in_turn(id, body->turn, "a tool call");
  if (const auto* body = event.get<ToolRefused>()) in_turn(id, body->turn, "a refused call");
  if (const auto* body = event.get<ModelCallEnded>()) in_turn(id, body->turn, "a void model call");
  if (const auto* body = event.get<TaskChanged>(); body != nullptr && body->state == TaskState::started)
    is_open(reported_, id, "a background task", true);
  if (event.get<QuestionAsked>() != nullptr) is_open(reported_, id, "a question", false);
}

void GateRules::check(const AgentTree& tree) {
  for (const std::string& id : now_.agents) {
    const auto agent = tree.find(id);
    if (!agent || being_resumed_.contains(id)) continue;
    const AgentState state = agent.value().state().value();
    verdict_.require(!can_process(state), "G3",
                     "a stopped agent is open again: " + id + " is " + std::string(to_string(state)));
  }
}

void GateRules::check_quiet(const AgentTree& tree, TimePoint now) {
  for (const auto& [id, stop] : now_.deferred) {
    if (id.empty() || !stop.escalates || *stop.escalates > now) continue;
    const auto agent = tree.find(id);
    if (!agent) continue;
    const AgentState state = agent.value().state().value();
    verdict_.require(!can_process(state), "G1",
                     "a deferred stop has not escalated: " + id + " is " + std::string(to_string(state)));
  }
}

}  // namespace agentcore::sim
