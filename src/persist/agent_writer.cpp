#include "persist/agent_writer.hpp"

#include "persist/context_record.hpp"
#include "persist/grant_record.hpp"
#include "persist/record_kinds.hpp"
#include "turn/turn_data.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace agentcore::detail::persist {

namespace {

// True for an agent that was unusable at the restart, and on which no stop or resume was called since.
bool is_as_restored(const core::Node& node, const Unusable& found) noexcept {
  if (!found.is_open) return !node.load().is_open();
  return node.load().gate() == core::Gate::stop_self && node.extends_below(core::Node::unusable) &&
         !node.extends_below(core::Node::stays_stopped);
}

}  // namespace

void AgentWriter::write(Batch& batch, core::Node& node, StoredAgent& agent) {
  StoreBatch& changes = batch.changes;
  if (agent.unusable && !is_as_restored(node, *agent.unusable)) agent.forget_unusable();
  write_spec(changes, node, agent);
  write_conversation(changes, node, agent);
  acknowledge_begins(batch, node, agent);
  std::vector<StoredMail> before;
  if (agent.mail_changed || agent.all_changed) {
    before = agent.mail;
    const bool rewrites = agent.mail_edited || agent.all_changed;
    for (const MessageId id : mail_.write(changes, node, agent.key, agent.mail, rewrites))
      batch.acknowledgements.add({Acknowledgement::What::message, node.id(), id, {}});
  }
  acknowledge_turn(batch, node, agent, before);
  write_grants(changes, node, agent);
  write_intents(batch, node, agent);
  const AgentRecord record = record_of(node, agent);
  changes.put(key_of(Kind::agent, agent.key), to_json(record));
  agent.is_open_in_store = record.gate == core::Gate::open && record.grade == core::Grade::none;
  agent.is_deleted_in_store = record.gate == core::Gate::terminate || record.grade_deletes;
  generation_ = std::max<std::uint64_t>(generation_, core::generation_of(node.id()));
  agent.mail_changed = agent.mail_edited = agent.grants_changed = agent.all_changed = false;
}

void AgentWriter::write_spec(StoreBatch& changes, const core::Node& node, StoredAgent& agent) {
  if (agent.spec == node.spec.get()) return;
  const std::uint64_t number = specs_.add(changes, node.spec);
  if (agent.spec) specs_.remove(changes, agent.spec);
  agent.spec = node.spec.get();
  agent.spec_number = number;
}

void AgentWriter::write_conversation(StoreBatch& changes, core::Node& node, StoredAgent& agent) {
  if (!node.data || !agent.is_loaded) return;
  auto& data = static_cast<turn::TurnData&>(*node.data);
  if (data.conversation.changes().any() || agent.all_changed) {
    turn::ConversationChanges what = std::exchange(data.conversation.changes(), {});
    if (agent.all_changed) what = {0, 0};
    const bool all = std::exchange(agent.all_changed, true);  // until it is written
    histories_.write(changes, node.id(), agent.history, data.conversation, what);
    agent.all_changed = all;
  }
  const bool has_context = !sends_all(data.sent);
  if (has_context)
    changes.put(key_of(Kind::context, agent.key), to_json(data.sent));
  else if (agent.has_context)
    changes.erase(key_of(Kind::context, agent.key));
  agent.has_context = has_context;
}

// First, so that a count is not written without it.
void AgentWriter::acknowledge_begins(Batch& batch, const core::Node& node, const StoredAgent& agent) {
  const bool any = std::any_of(agent.mail.begin(), agent.mail.end(),
                               [](const StoredMail& mail) { return mail.begin == StoredMail::Begin::noted; });
  if (any) batch.acknowledgements.add({Acknowledgement::What::intents, node.id(), {}, {}});
}

// The message of a turn in progress was taken before it was ever stored.
void AgentWriter::acknowledge_turn(Batch& batch, const core::Node& node, StoredAgent& agent,
                                   const std::vector<StoredMail>& stored) {
  const turn::ActiveTurn* const active = turn::active_turn(node);
  if (!active || agent.acknowledged_turn == node.turns) return;
  mail_.note(active->message);
  const bool was_stored = std::any_of(stored.begin(), stored.end(),
                                      [&](const StoredMail& mail) { return mail.id == active->message; });
  if (!was_stored)
    batch.acknowledgements.add({Acknowledgement::What::message, node.id(), active->message, {}});
  agent.acknowledged_turn = node.turns;
}

void AgentWriter::write_grants(StoreBatch& changes, const core::Node& node, StoredAgent& agent) const {
  if (!agent.grants_changed && !agent.all_changed) return;
  const std::vector<turn::StoredGrant>& grants = turns_.permissions().table().of(node.id());
  if (agent.has_grants) changes.erase(key_of(Kind::grant, agent.key), last_of(Kind::grant, agent.key));
  for (std::size_t i = 0; i < grants.size(); ++i)
    changes.put(key_of(Kind::grant, agent.key, i), to_json(grants[i]));
  agent.has_grants = agent.has_grants || !grants.empty();
}

void AgentWriter::write_intents(Batch& batch, const core::Node& node, StoredAgent& agent) {
  const bool any = std::any_of(agent.intents.begin(), agent.intents.end(),
                               [](const Intent& intent) { return intent.state == Intent::State::noted; });
  if (!any && !agent.lost_intent) return;
  batch.acknowledgements.add({Acknowledgement::What::intents, node.id(), {}, {}});
  agent.lost_intent = false;
  for (Intent& intent : agent.intents) intent.state = std::max(intent.state, Intent::State::written);
}

AgentRecord AgentWriter::record_of(const core::Node& node, const StoredAgent& agent) const {
  const core::PackedState packed = node.load();
  const core::Node& parent = *node.parent.load(std::memory_order_relaxed);
  AgentRecord record;
  record.node = node.id();
  if (node.name.load(std::memory_order_relaxed)) record.name = table_.names().name_of(node, node.id());
  if (!parent.is_root_sentinel()) record.parent = agents_.find(parent.id())->key;
  record.spec = agent.spec_number;
  record.gate = packed.gate();
  record.grade = packed.stop_grade();
  if (record.grade != core::Grade::none) record.grade_below = node.grade_of_descendants();
  record.grade_deletes = node.extends_below(core::Node::grade_deletes);
  record.deletes_forks = node.extends_below(core::Node::deletes_forks);
  record.stopped_by_ancestor = node.settling.stopped_by_ancestor;
  record.stays_stopped = node.extends_below(core::Node::stays_stopped);
  record.unsettled = !packed.is_open() && packed.state() != AgentState::stopped;
  record.cause = node.settling.cause;
  record.paused = packed.is_paused();
  record.held = packed.is_held();
  record.held_by_restart = record.held && agent.held_by_restart;
  record.holds_below = record.held && node.extends_below(core::Node::hold_below);
  record.of_task = node.extends_below(core::Node::of_task);
  record.turns = node.turns;
  record.history = agent.history;
  record.has_context = agent.has_context;
  record.has_grants = agent.has_grants;
  add_tasks(record, node);
  add_data(record, node, agent);
  if (agent.unusable) keep_unusable(record, *agent.unusable);
  return record;
}

// For the next restart, which may find the code of the agent, or a conversation that was repaired.
void AgentWriter::keep_unusable(AgentRecord& record, const Unusable& found) {
  if (found.is_open) {
    record.gate = core::Gate::open;
    record.stopped_by_ancestor = record.stays_stopped = record.unsettled = false;
    record.cause = StopCause::user;
  }
  if (found.turn) record.turn = found.turn;
  if (!found.tasks.empty()) record.tasks = found.tasks;
}

void AgentWriter::add_data(AgentRecord& record, const core::Node& node, const StoredAgent& agent) const {
  if (agent.unread) {
    record.tool_turns = agent.unread->tool_turns;
    record.summary_tokens = agent.unread->summary_tokens;
    record.ended_tasks = agent.unread->ended_tasks;
  }
  if (!node.data) return;
  const auto& data = static_cast<const turn::TurnData&>(*node.data);
  if (!agent.unread) {
    record.tool_turns = data.tool_turns;
    record.summary_tokens = data.summary_tokens;
    record.ended_tasks = data.ended_tasks;
  }
  record.tool_children = data.tool_children;
  record.origin = data.origin;
  record.of_call = data.of_call;
  if (data.turn) add_turn(record, node, agent);
  if (!data.accounts) return;
  if (data.accounts->own.limits()) record.own = account_record(data.accounts->own, engine_);
  if (data.accounts->subtree.limits()) record.subtree = account_record(data.accounts->subtree, engine_);
}

void AgentWriter::add_turn(AgentRecord& record, const core::Node& node, const StoredAgent& agent) const {
  record.turn = turn::stored_turn(node, turns_.questions().list(), engine_);
  const std::vector<ToolCallRecord>& steps = turn::active_turn(node)->result->calls;
  for (std::size_t i = 0; i < steps.size(); ++i)
    record.turn->calls[i].may_begin =
        std::any_of(agent.intents.begin(), agent.intents.end(),
                    [&](const Intent& intent) { return intent.call_id == steps[i].call_id; });
}

// Those that the conversation has.
void AgentWriter::add_tasks(AgentRecord& record, const core::Node& node) const {
  if (node.operations == 0) return;
  turns_.operations().for_each(node, [&](const turn::Operation& operation) {
    if (operation.kind == turn::Operation::Kind::background && !operation.over && operation.call->in_history)
      record.tasks.push_back({operation.call->names.id, operation.call->names.tool});
  });
  std::reverse(record.tasks.begin(), record.tasks.end());  // the oldest first
}

void AgentWriter::erase(StoreBatch& changes, core::NodeId id, StoredAgent& agent) {
  generation_ = std::max<std::uint64_t>(generation_, core::generation_of(id));
  // Also of an agent that was never written: it may share the conversation of its origin, and its own was
  // written for a fork.
  if (agent.spec) changes.erase(key_of(Kind::agent, agent.key));
  if (agent.has_context) changes.erase(key_of(Kind::context, agent.key));
  if (agent.has_grants) changes.erase(key_of(Kind::grant, agent.key), last_of(Kind::grant, agent.key));
  if (!agent.mail.empty()) changes.erase(key_of(Kind::mail, agent.key), last_of(Kind::mail, agent.key));
  histories_.erase(changes, id, agent.history);
  if (agent.spec) specs_.remove(changes, std::exchange(agent.spec, nullptr));
}

}  // namespace agentcore::detail::persist
