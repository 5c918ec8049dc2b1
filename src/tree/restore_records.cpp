#include "tree/restore_records.hpp"

#include "tree/settle_reports.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::detail::tree {

using persist::AgentRecord;

void RestoreRecords::make(const StoredTree& stored) {
  if (!tree_.options.audit) return;
  StopRecord* const of_all =
      stored.tree().stop_unsettled ? &add(StopVerb::stop, {}, StopCause::user) : nullptr;
  for (const auto& agent : stored.agents()) {
    const auto above = below_.find(agent->parent);
    StopRecord* const outer = agent->parent ? (above == below_.end() ? nullptr : above->second) : of_all;
    // A delete within a stop has a record of its own.
    const bool is_included = outer && agent->is_deleted == (outer->verb == StopVerb::terminate) &&
                             (agent->is_deleted || agent->is_stopped());
    StopRecord* const record = is_included ? outer : begins(*agent);
    if (record) add_agent(*record, *agent);
    if (is_included) record->descendants.push_back(id_of(*agent));
    StopRecord* const passes_on = record && record->cascade ? record : agent->is_deleted ? nullptr : outer;
    if (passes_on) below_.emplace(agent.get(), passes_on);
  }
  // Children before parents.
  for (const auto& record : records_) std::reverse(record->descendants.begin(), record->descendants.end());
}

// The record of a stop or delete that begins at that agent; null: there is none.
StopRecord* RestoreRecords::begins(const StoredAgentOfTree& agent) {
  if (agent.is_deleted) return &add(StopVerb::terminate, id_of(agent), StopCause::terminate);
  const bool was_deferred = agent.record.grade != core::Grade::none;
  const bool is_unusable = agent.is_stopped_as_unusable();
  if (!agent.is_stopped() || (!agent.record.unsettled && !was_deferred && !is_unusable)) return nullptr;
  StopRecord& record = add(StopVerb::stop, id_of(agent), agent.cause);
  record.cascade = agent.gate == core::Gate::stop_tree;
  if (is_unusable) record.reason = agent.damage.empty() ? agent.spec->unbound : agent.damage;
  return &record;
}

StopRecord& RestoreRecords::add(StopVerb verb, std::string agent_id, StopCause cause) {
  auto record = std::make_unique<StopRecord>();
  record->verb = verb;
  record->tree = tree_.table.tree();
  record->agent_id = std::move(agent_id);
  record->cause = cause;
  record->restart = true;
  record->called = {tree_.engine->clock().now(), tree_.engine->clock().wall_time()};
  record->closed = record->settled = record->called;
  records_.push_back(std::move(record));
  return *records_.back();
}

// What a restart has ended of the agent.
void RestoreRecords::add_agent(StopRecord& record, const StoredAgentOfTree& agent) const {
  if (!agent.is_deleted && agent.is_stopped_as_unusable()) return;  // the store keeps what it has
  record.messages_dropped += agent.mail.size();
  for (const persist::MailRecord& mail : agent.mail)
    if (record.dropped_messages.size() < SettleReports::most_ids) record.dropped_messages.push_back(mail.id);
  for (const InterruptedCall& call : agent.interrupted_calls)
    record.operations.push_back({.kind = TaskKind::tool_call,
                                 .agent_id = id_of(agent),
                                 .turn = agent.record.turn ? agent.record.turn->number : agent.record.turns,
                                 .call_id = call.call_id,
                                 .tool = call.tool});
  record.complete = record.complete && !(agent.is_deleted && agent.has_work());
}

void RestoreRecords::report() noexcept {
  for (const auto& record : records_) {
    if (tree_.is_closed()) return;
    const SharedOrBorrowed<StopAudit> audit = tree_.options.audit;  // it may destroy the tree
    tree_.engine->guarded("StopAudit::record", [&] { audit->record(*record); });
  }
}

std::string RestoreRecords::id_of(const StoredAgentOfTree& agent) const {
  const AgentRecord& record = agent.record;
  return record.name.empty() ? tree_.table.names().generated_here(record.node) : record.name;
}

}  // namespace agentcore::detail::tree
