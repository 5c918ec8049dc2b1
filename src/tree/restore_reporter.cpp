#include "tree/restore_reporter.hpp"

#include "core/gates.hpp"

#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using persist::AgentRecord;

RestoreReport RestoreReporter::report_of(const StoredTree& stored) const {
  RestoreReport report;
  for (const auto& agent : stored.agents()) {
    if (agent->is_deleted) {
      ++report.deleted;
      report.deleted_ids.push_back(id_of(*agent));
      continue;
    }
    ++report.agents;
    report.messages += agent->is_stopped() ? 0 : agent->mail.size();
    report.interrupted_turns += agent->fate == RestoredTurn::interrupted ? 1 : 0;
    report.continued_turns += agent->fate == RestoredTurn::continues ? 1 : 0;
    report.unbound += agent->is_unbound() ? 1 : 0;
  }
  return report;
}

void RestoreReporter::emit(const StoredTree& stored) {
  for (const auto& agent : stored.agents()) {
    if (hub_.closed()) return;
    Node* const node = agent->is_deleted ? nullptr : tree_.table.find(agent->record.node);
    if (node) emit(*node, *agent);
  }
  ask_again(stored);
}

// All agents were reported: now their turns may run code of the host.
void RestoreReporter::ask_again(const StoredTree& stored) {
  bool any = false;
  for (const auto& agent : stored.agents()) {
    if (hub_.closed()) return;
    Node* const node =
        agent->fate == RestoredTurn::continues ? tree_.table.find(agent->record.node) : nullptr;
    any = any || node;
    if (node && turn::is_active(*node)) ask_again(*node, *agent);
  }
  if (any && !hub_.closed()) scheduler_.visit_agents();
}

// A turn that waited only for people does not go on without one. If a policy, a grant or a tool has changed,
// one of its calls may not ask any more: then the turn ends. An observer may have answered those that ask.
void RestoreReporter::ask_again(Node& node, const StoredAgentOfTree& agent) noexcept {
  const bool only_waits = tree_.persistence->options().turns == InterruptedTurns::end;
  const bool all_ask = turns_.restorer().ask_again(node);
  if (is_gone(agent) || !only_waits || !turn::is_active(node)) return;
  if (!all_ask) turns_.interrupt(node);
}

void RestoreReporter::emit(Node& node, const StoredAgentOfTree& agent) {
  const AgentRecord& record = agent.record;
  hub_.emit(node, [&](Agent handle) {
    AgentRestored restored{std::move(handle)};
    restored.state = node.reported;
    restored.messages = agent.is_stopped() ? 0 : agent.mail.size();
    restored.queue_held = core::is_queue_held(node);
    restored.held_by_restart = agent.held_by_restart;
    restored.fate = agent.fate;
    if (record.turn) {
      restored.turn = record.turn->number;
      restored.message = record.turn->message;
      restored.attempt = record.turn->attempt;
    } else if (!agent.given_up.empty()) {
      restored.message = agent.given_up.front().id;
      restored.attempt = agent.given_up.front().begun;
    }
    restored.interrupted_calls = agent.interrupted_calls;
    restored.unbound = agent.spec->unbound;
    restored.damage = agent.damage;
    return restored;
  });
  for (const std::uint64_t number : agent.closed_questions) {
    if (is_gone(agent)) return;
    hub_.emit_for(record.node, [&](Agent handle) {
      return QuestionClosed{std::move(handle), record.turn->number, turn::question_id(number),
                            QuestionOutcome::cancelled};
    });
  }
  drop(agent, agent.given_up, DropReason::interrupted);
  if (agent.is_stopped()) drop(agent, agent.mail, DropReason::stopped);
}

void RestoreReporter::drop(const StoredAgentOfTree& agent, const std::vector<persist::MailRecord>& messages,
                           DropReason reason) {
  for (const persist::MailRecord& mail : messages) {
    if (is_gone(agent)) return;
    hub_.emit_for(agent.record.node, [&](Agent handle) {
      return MessageDropped{std::move(handle), mail.id, mail.message, reason, mail.simulated};
    });
  }
}

// A callback has deleted the agent, or destroyed the tree.
bool RestoreReporter::is_gone(const StoredAgentOfTree& agent) const noexcept {
  return hub_.closed() || !tree_.table.find(agent.record.node);
}

std::string RestoreReporter::id_of(const StoredAgentOfTree& agent) const {
  const AgentRecord& record = agent.record;
  return record.name.empty() ? tree_.table.names().generated_here(record.node) : record.name;
}

}  // namespace agentcore::detail::tree
