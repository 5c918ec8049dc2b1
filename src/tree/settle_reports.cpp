#include "tree/settle_reports.hpp"

#include <string>
#include <utility>
#include <vector>

namespace agentcore::detail::tree {

using core::Node;

// Calls write(job) for each job whose report names `node`: as stopped, or as removed.
template <typename Write>
void SettleReports::each_report(const Node& node, bool removed, Write&& write) {
  if (!jobs_.wants_reports()) return;
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_relaxed)) {
    if (!up->settling.is_job_root) continue;
    jobs_.for_each_of(up->id(), [&](SettleJob& job) {
      if (job.is_pending() || !job.op->collects() || (job.op->verb == Verb::terminate) != removed) return;
      if (up == &node || job.op->cascade) write(job);
    });
  }
}

// Calls visit(names) for each list of names that `node` belongs to.
template <typename Visit>
void SettleReports::each_list(const Node& node, bool stops, bool goes, Visit&& visit) {
  for (const bool removed : {false, true}) {
    if (!(removed ? goes : stops)) continue;
    each_report(node, removed, [&](SettleJob& job) {
      if (job.root != &node) visit(job.done);
      if (node.settling.has_abandoned) visit(job.failed);
    });
  }
}

bool SettleReports::record(const Node& node, bool stops, bool goes) noexcept {
  return engine_.guarded("a report", [&] { write_names(node, stops, goes); });
}

// If it throws, it has undone its changes.
void SettleReports::write_names(const Node& node, bool stops, bool goes) {
  std::string name;
  std::size_t written = 0;
  try {
    each_list(node, stops, goes, [&](std::vector<std::string>& names) {
      if (name.empty()) name = table_.names().name_of(node, node.id());
      names.push_back(name);
      ++written;
    });
  } catch (...) {
    each_list(node, stops, goes, [&](std::vector<std::string>& names) {
      if (written == 0) return;
      names.pop_back();
      --written;
    });
    throw;
  }
}

void SettleReports::write_dropped(const Node& node, const mailbox::DroppedMessages& dropped,
                                  bool removed) noexcept {
  each_report(node, removed, [&](SettleJob& job) {
    job.messages_dropped += dropped.count();
    engine_.guarded("a report", [&] {
      dropped.for_each([&](const mailbox::Cell& cell) {
        if (job.dropped.size() < most_ids) job.dropped.push_back(mailbox::MessagePool::id_in(cell));
      });
    });
  });
}

void SettleReports::take_cuts_from_trail(const Node& node, bool stops, bool goes) noexcept {
  const turn::AgentCuts* const cuts = trail_->find(node.id());
  if (!cuts) return;
  bool is_taken = goes;
  for (const bool removed : {false, true}) {
    if (!(removed ? goes : stops)) continue;
    each_report(node, removed, [&](SettleJob& job) {
      if (!job.record) return;
      is_taken = true;
      if (!engine_.guarded("a stop record", [&] {
            turn::CutTrail::append(*cuts, table_.names().name_of(node, node.id()), *job.record);
          }))
        job.record->complete = false;
    });
  }
  if (is_taken) trail_->remove(node.id());
}

void SettleReports::complete(core::NodeId root) noexcept {
  std::unique_ptr<SettleJob> done = jobs_.take_done(root);
  for (SettleJob* job = done.get(); job; job = job->next.get()) job->timer.reset();
  while (done && !hub_.closed()) {
    call(*done);
    done = std::exchange(done->next, nullptr);
  }
}

// The record shares its data with the report, which is made after it.
void SettleReports::write_record(SettleJob& job) noexcept {
  engine_.guarded("StopAudit::record", [&] {
    const ControlOp& op = *job.op;
    StopRecord& record = *job.record;
    record.verb = op.verb == Verb::terminate ? StopVerb::terminate : StopVerb::stop;
    record.tree = table_.tree();
    record.agent_id = op.agent_name;
    record.below = op.audit->below;
    record.cause = op.cause;
    record.caller = op.origin.caller();
    record.reason = op.origin.reason();
    record.cascade = op.cascade;
    record.when = op.audit->when;
    record.called = op.audit->called;
    record.closed = op.audit->closed;
    record.settled = {engine_.clock().now(), engine_.clock().wall_time()};
    record.descendants = job.done;
    record.abandoned = job.failed;
    record.messages_dropped = job.messages_dropped;
    record.dropped_messages = job.dropped;
    audit_->record(record);
  });
}

void SettleReports::call(SettleJob& job) noexcept {
  calling_ = true;
  if (job.record) write_record(job);
  if (!hub_.closed()) call_completion(job);
  calling_ = false;
  if (engine_.closed()) hub_.close();
}

void SettleReports::call_completion(SettleJob& job) noexcept {
  ControlOp& op = *job.op;
  if (!op.on_settled) return;
  const bool deletes = op.verb == Verb::terminate;
  engine_.guarded(deletes ? "TerminateOptions::on_settled" : "StopOptions::on_settled", [&] {
    op.on_settled(StopReport{.agent_id = std::move(op.agent_name),
                             .cause = op.cause,
                             .caller = std::move(op.caller),
                             .reason = std::move(op.reason),
                             .descendants = std::move(job.done),
                             .abandoned = std::move(job.failed),
                             .messages_dropped = job.messages_dropped,
                             .dropped_messages = std::move(job.dropped)});
  });
}

}  // namespace agentcore::detail::tree
