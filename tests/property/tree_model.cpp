#include "property/tree_model.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::test {
namespace {

std::string sorted(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  std::string all;
  for (const auto& word : words) all += " " + word;
  return all;
}

Errc found(AgentState state) {
  if (state == AgentState::stopping) return Errc::agent_stopping;
  return state == AgentState::stopped ? Errc::agent_stopped : Errc::agent_terminating;
}

Errc refusal(AgentState state) {
  if (state == AgentState::stopping) return Errc::agent_stopping;
  return state == AgentState::stopped ? Errc::agent_stopped : Errc::agent_terminating;
}

}  // namespace

TreeModel::TreeModel() {
  nodes_.push_back(std::make_unique<Node>());
  trunk_ = nodes_.front().get();
}

TreeModel::Node* TreeModel::find(const std::string& id) {
  if (id.empty()) return trunk_;
  const auto place = alive_.find(id);
  return place == alive_.end() ? nullptr : place->second;
}

bool TreeModel::closed_above(const Node& n) {
  for (const Node* up = n.parent; up; up = up->parent)
    if (closes(*up)) return true;
  return false;
}

bool TreeModel::deleted_above(const Node& n) {
  for (const Node* up = n.parent; up; up = up->parent)
    if (up->gate == Gate::terminate) return true;
  return false;
}

// What everyone sees: the nearest verb under way above decides (X13).
AgentState TreeModel::visible(const Node& n) {
  if (n.own == AgentState::stopping || n.own == AgentState::terminating) return n.own;
  for (const Node* up = n.parent; up; up = up->parent) {
    if (!closes(*up)) continue;
    if (up->own == AgentState::terminating) return AgentState::terminating;
    if (can_process(n.own)) return AgentState::stopping;
    if (up->own == AgentState::stopping) return n.own;
  }
  return n.own;
}

Errc TreeModel::create(const std::string& parent, const std::string& id, ModelSpec spec) {
  Node* const up = find(parent);
  if (!up) return Errc::agent_not_found;
  if (up->depth >= max_depth) return Errc::depth_limit;
  if (alive_.size() >= max_agents) return Errc::agent_limit;
  if (!open(*up)) return refusal(visible(*up));
  if (alive_.contains(id)) return Errc::agent_exists;
  nodes_.push_back(std::make_unique<Node>());
  Node* const made = nodes_.back().get();
  made->id = id;
  made->spec = spec;
  made->parent = up;
  made->depth = up->depth + 1;
  up->kids.push_back(made);
  alive_[id] = made;
  events.push_back("created " + id);
  return Errc::none;
}

Reply TreeModel::send(const std::string& id, const std::string& text) {
  Node* const n = find(id);
  if (!n) return {false, false, Errc::agent_not_found};
  if (!open(*n) && visible(*n) == AgentState::stopped && n->spec.auto_resume)
    static_cast<void>(resume(id, true));
  if (!open(*n)) return {false, false, refusal(visible(*n))};
  if (n->queue.size() >= mailbox_limit) return {false, false, Errc::mailbox_full};
  n->queue.push_back(text);
  return {true, true, Errc::none};
}

Reply TreeModel::abort(const std::string& id, bool drop_queue) {
  Node* const n = find(id);
  if (!n) return {false, false, Errc::agent_not_found};
  if (!open(*n) || n->own != AgentState::waiting_llm) return {true, false, Errc::not_waiting_llm};
  n->own = AgentState::idle;
  n->aborted = true;
  if (n->current) n->current->cut = true;
  ops_.push_back({Verb::abort, n, true, false, drop_queue ? n->queue.size() : 0});
  return {true, true, Errc::none};
}

Errc TreeModel::refuse_caller(const Node& n, const std::string& caller) const {
  if (caller.empty()) return Errc::none;
  const Node* const who = find(caller);
  return who && n.parent == who ? Errc::none : Errc::not_child_agent;
}

Reply TreeModel::stop(const std::string& id, bool cascade, const std::string& caller) {
  Node* const n = find(id);
  if (!n) return {false, false, Errc::agent_not_found};
  if (n->spec.role == AgentRole::user) return {false, false, Errc::cannot_stop_user};
  if (const Errc no = refuse_caller(*n, caller); no != Errc::none) return {false, false, no};
  const bool has_stopped = n->own == AgentState::stopped;
  const bool widens = n->gate == Gate::self && (has_stopped || n->own == AgentState::stopping) &&
                      !closed_above(*n) && cascade;
  if (!open(*n) && !widens) {
    n->kept = true;
    ops_.push_back({Verb::stop, n, false, cascade, 0});
    return {true, false, found(visible(*n))};
  }
  n->gate = cascade ? Gate::tree : Gate::self;
  if (widens)
    n->widening = has_stopped;
  else
    n->own = AgentState::stopping;
  n->alone = !cascade;
  ops_.push_back({Verb::stop, n, true, cascade, 0});
  return {true, true, Errc::none};
}

Reply TreeModel::resume(const std::string& id, bool cascade) {
  Node* const n = find(id);
  if (!n) return {false, false, Errc::agent_not_found};
  const AgentState now = visible(*n);
  if (now == AgentState::terminating || n->gate == Gate::terminate || deleted_above(*n))
    return {false, false, Errc::agent_terminating};
  if (now == AgentState::stopping || (n->widening && !closed_above(*n)))
    return {false, false, Errc::agent_stopping};
  if (closed_above(*n)) return {false, false, Errc::parent_stopped};
  if (now != AgentState::stopped) return {true, false, Errc::not_stopped};
  ops_.push_back({Verb::resume, n, true, cascade && n->gate == Gate::tree, 0});
  n->own = AgentState::idle;
  n->gate = Gate::open;
  n->kept = false;
  return {true, true, Errc::none};
}

Reply TreeModel::terminate(const std::string& id, const std::string& caller) {
  Node* const n = find(id);
  if (!n) return {false, false, Errc::agent_not_found};
  if (n->spec.role != AgentRole::normal) return {false, false, Errc::cannot_delete_system_agent};
  if (const Errc no = refuse_caller(*n, caller); no != Errc::none) return {false, false, no};
  if (n->gate == Gate::terminate || deleted_above(*n)) {
    ops_.push_back({Verb::terminate, n, false, true, 0});
    return {true, false, Errc::agent_terminating};
  }
  if (can_process(n->own))
    n->own = closed_above(*n) ? AgentState::stopping : AgentState::terminating;
  else if (n->own == AgentState::stopped && !n->widening && (n->gate != Gate::self || !closed_above(*n)))
    n->own = AgentState::terminating;
  n->gate = Gate::terminate;
  ops_.push_back({Verb::terminate, n, true, true, 0});
  return {true, true, Errc::none};
}

TreeModel::Call* TreeModel::call_of(const std::string& id, bool newest) {
  Call* found_call = nullptr;
  for (Call* call : client_)
    if (call->id == id && (newest || !found_call)) found_call = call;
  return found_call;
}

void TreeModel::delta(const std::string& id, bool newest) {
  Call* const call = call_of(id, newest);
  Node* const n = call ? call->node : nullptr;
  if (!n) return;
  if (!n->active || n->current != call || n->aborted || !open(*n))
    ++call->late;
  else
    call->text += "d";
}

void TreeModel::outcome(const std::string& id, bool newest, ChatOutcome::Kind kind) {
  if (Call* const call = call_of(id, newest)) end(call, kind);
}

void TreeModel::end(Call* call, ChatOutcome::Kind kind) {
  Node* const n = call->node;
  std::erase(client_, call);
  if (!n) return;
  const bool current = n->active && n->current == call;
  const std::string turn = n->id + " " + std::to_string(call->turn) + " ";
  if (current) n->current = nullptr;
  std::erase(n->calls, call);
  if (current && !n->aborted && open(*n)) {
    const bool completed = kind == ChatOutcome::Kind::completed;
    const std::string how = completed ? "" : kind == ChatOutcome::Kind::failed ? "failed" : "aborted";
    if (completed)
      n->history.push_back("assistant:" + call->text);
    else
      n->history.back() += "!" + how;
    events.push_back("ended " + turn + (completed ? "completed" : how));
    n->active = false;
    n->own = AgentState::idle;
    return;
  }
  if (current) interrupt(*n);
  if (call->late || kind != ChatOutcome::Kind::cancelled)
    events.push_back("discarded " + turn +
                     (kind == ChatOutcome::Kind::completed ? "answer"
                      : kind == ChatOutcome::Kind::failed  ? "failure"
                                                           : "text"));
  let_go(n);
}

void TreeModel::interrupt(Node& n) {
  const std::string how = open(n) ? "aborted" : "stopped";
  n.history.back() += "!" + how;
  events.push_back("ended " + n.id + " " + std::to_string(n.turns) + " " + how);
  n.active = n.aborted = false;
  if (n.current) n.current->cut = true;
  n.current = nullptr;
}

void TreeModel::settle() {
  std::vector<Op> ops = std::exchange(ops_, {});
  for (const auto& [id, n] : alive_) n->busy = !n->calls.empty();
  for (const Op& op : ops) start(op);
  for (const auto& [id, n] : std::map(alive_))
    if (n->active && (n->aborted || !open(*n))) interrupt(*n);
  for (Call* call : std::vector(client_))  // those that react to their stop
    if (call->node && call->cut && !call->node->spec.deaf) end(call, ChatOutcome::Kind::cancelled);
  for (const Op& op : ops)
    if (op.verb == Verb::resume && !closes(*op.node) && !closed_above(*op.node)) {
      op.node->by_parent = false;
      if (op.cascade) resume_below(*op.node);
    }
  settle_below(*trunk_);
  run_turns();
}

void TreeModel::start(const Op& op) {
  Node& n = *op.node;
  if (op.verb == Verb::abort) {
    drop(n, op.clear, "queue_dropped");
    return;
  }
  if (op.verb == Verb::resume) return;
  if (find(n.id) != &n)
    return report({op.verb, &n, op.effect, op.cascade, {}, {}, 0});  // it is deleted already
  if (op.effect) n.direct = true;
  if (op.effect && op.verb == Verb::terminate) n.deleting = true;
  if (op.effect) n.by_parent = false;
  const bool has_job =
      std::any_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.root == &n; });
  const bool over = n.own == AgentState::stopped ? !has_job : open(n);
  jobs_.push_back({op.verb, &n, op.effect, op.cascade, {}, {}, 0});
  if (op.effect || op.verb != Verb::stop || !over) return;
  report(jobs_.back());
  jobs_.pop_back();
}

void TreeModel::resume_below(Node& n) {
  for (Node* kid : n.kids) {
    bool further = !kid->by_parent && !closes(*kid);
    if (kid->by_parent && !kid->kept && kid->own == AgentState::stopped && kid->gate != Gate::terminate) {
      kid->own = AgentState::idle;
      kid->gate = Gate::open;
      kid->by_parent = false;
      further = true;
    }
    if (further) resume_below(*kid);
  }
}

// What the gates above have decided becomes its own.
void TreeModel::mark(Node& n) {
  const AgentState to = visible(n);
  if (to == n.own) return;
  if (n.own == AgentState::stopped && (n.widening || n.gate == Gate::terminate)) return;
  n.own = to;
  n.gate = std::max(n.gate, to == AgentState::terminating ? Gate::terminate : Gate::tree);
}

// Children first. True if an operation of it is still in flight.
bool TreeModel::settle_below(Node& n) {
  const bool is_closed = !open(n);
  if (is_closed && n.parent && !n.direct && n.own != AgentState::stopped && n.own != AgentState::terminating)
    n.by_parent = true;
  if (n.parent) mark(n);
  // A stop without the children does not wait for them, even when a stop above comes right after it.
  if (n.alone && n.own == AgentState::stopping && !n.walked && !n.busy) {
    stop_now(n);
    complete(n, false);
    mark(n);
  }
  const bool covers = closes(n) || closed_above(n);
  bool waits = !n.calls.empty() && is_closed;
  for (Node* kid : std::vector(n.kids)) {
    const bool waits_below = settle_below(*kid);
    if (covers && waits_below) waits = kid->counted = true;
  }
  n.walked = is_closed && waits;
  n.walked_alone = n.gate == Gate::self;
  if (is_closed && !waits) finish(n);
  return waits;
}

// A call of `n` has ended: it may have waited for just that.
void TreeModel::let_go(Node* n) {
  while (n && n->walked && !(n->walked_alone && n->gate == Gate::tree) && n->calls.empty() &&
         std::none_of(n->kids.begin(), n->kids.end(), [](const Node* kid) { return kid->counted; })) {
    const bool counted = n->counted;
    Node* const up = counted ? n->parent : nullptr;
    const bool gone_or_stopped = finish(*n);
    if (!gone_or_stopped) n->counted = counted;  // its delete is still to come: those above wait
    n = gone_or_stopped ? up : nullptr;
  }
}

// False when it is to be deleted, but what lies below has to be deleted before.
bool TreeModel::finish(Node& n) {
  n.walked = n.counted = false;
  if (n.own == AgentState::stopping) stop_now(n);
  n.widening = false;
  bool deleting = false;  // what the loop has not heard of yet comes later
  for (const Node* up = &n; up; up = up->parent) deleting = deleting || up->deleting;
  if (deleting && n.kids.empty()) {
    remove(n);
    return true;
  }
  n.abandoned = false;
  n.direct = deleting;
  complete(n, false);
  return !deleting;
}

void TreeModel::stop_now(Node& n) {
  n.own = AgentState::stopped;
  n.alone = false;
  if (n.parent) events.push_back("settled " + n.id + " stopped" + (n.abandoned ? " abandoned" : ""));
  record(n, n.queue.size(), Verb::stop);
  drop(n, n.queue.size(), "stopped");
}

void TreeModel::remove(Node& n) {
  events.push_back("settled " + n.id + " terminating" + (n.abandoned ? " abandoned" : ""));
  events.push_back("deleted " + n.id);
  record(n, n.queue.size(), Verb::terminate);
  drop(n, n.queue.size(), "deleted");
  std::erase(n.parent->kids, &n);
  alive_.erase(n.id);
  complete(n, true);
}

void TreeModel::drop(Node& n, std::size_t messages, const std::string& reason) {
  for (std::size_t i = 0; i < messages; ++i) {
    events.push_back("dropped " + n.id + " " + n.queue.front() + " " + reason);
    n.queue.pop_front();
  }
}

void TreeModel::record(const Node& n, std::size_t dropped, Verb verb) {
  for (const Node* up = &n; up; up = up->parent)
    for (Job& job : jobs_) {
      if (job.root != up || job.verb != verb || (up != &n && !job.cascade)) continue;
      if (up != &n) job.done.push_back(n.id);
      if (n.abandoned) job.failed.push_back(n.id);
      job.dropped += dropped;
    }
}

void TreeModel::complete(Node& n, bool gone) {
  for (std::size_t i = 0; i < jobs_.size();) {
    if (jobs_[i].root != &n || (!gone && jobs_[i].verb != Verb::stop)) {
      ++i;
      continue;
    }
    report(jobs_[i]);
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void TreeModel::report(const Job& job) {
  const std::string line = (job.verb == Verb::stop ? "stop " : "terminate ") + job.root->id;
  if (!job.effect) return reports.push_back(line + " joined");
  reports.push_back(line + ":" + sorted(job.done) + " failed:" + sorted(job.failed) +
                    " dropped: " + std::to_string(job.dropped));
}

void TreeModel::give_up() {
  settle();
  std::vector<Node*> late;
  for (const auto& [id, n] : alive_)
    if (n->walked && !n->calls.empty()) late.push_back(n);
  for (Node* n : late) {
    n->abandoned = true;
    for (Call* call : n->calls) {
      events.push_back("abandoned " + n->id + " model call");
      call->node = nullptr;
    }
    n->calls.clear();
    let_go(n);
  }
  settle();
}

void TreeModel::run_turns() {
  for (const auto& [id, n] : alive_) {
    while (open(*n) && n->own == AgentState::idle && !n->active && !n->queue.empty()) {
      const std::string text = n->queue.front();
      n->queue.pop_front();
      const std::string turn = id + " " + std::to_string(++n->turns);
      events.push_back("started " + turn);
      if (n->spec.handler) {
        events.push_back("ended " + turn + " completed");
        continue;
      }
      n->history.push_back("user:" + text);
      calls_.push_back(std::make_unique<Call>(Call{id, n, n->turns, 0, false, ""}));
      client_.push_back(calls_.back().get());
      n->current = calls_.back().get();
      n->calls.push_back(n->current);
      n->active = true;
      n->own = AgentState::waiting_llm;
    }
  }
}

std::map<std::string, AgentState> TreeModel::states() const {
  std::map<std::string, AgentState> all;
  for (const auto& [id, n] : alive_) all[id] = visible(*n);
  return all;
}

std::size_t TreeModel::queue_length(const std::string& id) const {
  const auto* const n = find(id);
  if (!open(*n)) return 0;
  std::size_t cleared = 0;  // by aborts that the loop has not read yet
  for (const auto& op : ops_)
    if (op.verb == Verb::abort && op.node == n) cleared = std::max(cleared, op.clear);
  return n->queue.size() - cleared;
}

std::string TreeModel::history(const std::string& id) const {
  std::string all;
  for (const auto& line : find(id)->history) all += (all.empty() ? "" : ", ") + line;
  return all;
}

}  // namespace agentcore::test
