#include "tree/second_halves.hpp"

#include "core/gates.hpp"
#include "tree/stop.hpp"
#include "tree/subtree_cursor.hpp"

#include <new>
#include <utility>

namespace agentcore::detail::tree {

void SecondHalves::start(std::unique_ptr<ControlOp>& op) {
  if (persist::Recorder* const recorder = tree_.recorder()) record(*op, *recorder);
  switch (op->verb) {
    case Verb::abort:
    case Verb::interrupt:
      return scheduler_.finish_end_of_turn(*op);
    case Verb::release_queue:
      return scheduler_.finish_release(*op);
    case Verb::end_call:
      return turns_.finish_call(op->agent, op->call_id);
    case Verb::end_task:
      return turns_.finish_task(op->call_id);
    case Verb::steer:
      return scheduler_.finish_steer(*op);
    case Verb::pause:
    case Verb::unpause:
      return pauses_.finish(*op);
    case Verb::resume:
      return op->withdraws ? pending_.withdraw(*op) : settler_.start(op);
    case Verb::stop:
    case Verb::terminate:
      if (op->when != StopWhen::now) return pending_.start(op);
      if (op->forks) delete_forks(*op);
      if (op->took_effect || op->collects()) close(op);
      return;
  }
}

void SecondHalves::record_queued() {
  if (persist::Recorder* const recorder = tree_.recorder())
    tree_.control.for_each([&](const ControlOp& op) { record(op, *recorder); });
}

bool SecondHalves::has_resumes() const noexcept {
  bool any = settler_.has_resumes();
  tree_.control.for_each(
      [&any](const ControlOp& op) { any = any || (op.verb == Verb::resume && !op.withdraws); });
  return any;
}

// For the store: what is in force after a restart, too.
void SecondHalves::record(const ControlOp& op, persist::Recorder& recorder) {
  const core::Node* const node = tree_.table.find(op.agent);
  switch (op.verb) {
    case Verb::stop:
    case Verb::terminate:
      if (!op.took_effect || op.is_recorded || !node) return;
      if (node->is_root_sentinel())
        recorder.note_stop(0, {}, false);
      else
        recorder.note_stop(op.agent, tree_.table.names().name_of(*node, op.agent),
                           op.verb == Verb::terminate);
      op.is_recorded = true;
      return;
    case Verb::abort:
    case Verb::interrupt:
      if (!node) return;
      if (op.clear_up_to || op.withdrawn) recorder.note_mail(*node);
      // Of a subtree: a hold that there was may include it from now on.
      if (op.hold || op.cascade || op.epoch) recorder.note_change(node->id());
      if (op.cascade) note_turns_below(*node, recorder);
      return;
    case Verb::release_queue:
    case Verb::resume:
    case Verb::pause:
    case Verb::unpause:
      if (node && !node->is_root_sentinel()) return recorder.note_change(node->id());
      return recorder.note_tree();
    default:
      return;
  }
}

// An interrupt has ended the turns of a subtree: the next commit has that, although the loop is still to end
// them.
void SecondHalves::note_turns_below(const core::Node& root, persist::Recorder& recorder) const {
  for (const core::Node* node = &root; node; node = next_parent_first(tree_.table, root, *node, true))
    if (turn::is_active(*node) && core::is_interrupted(*node)) recorder.note_change(node->id());
}

// A delete that is pending has not come here: its forks are those that there are when it takes effect. The
// next commit has all of them: the forks are noted here, although their operations are still to be read.
// Throws std::bad_alloc; to be called again then.
void SecondHalves::delete_forks(const ControlOp& op) {
  core::Node* const node = tree_.table.find(op.agent);
  if (!node) return;
  TerminateOptions options;
  options.reason = op.origin.reason();
  options.when = *op.forks;
  options.grace = op.grace;
  if (op.escalate_at) options.escalate_after = *op.escalate_at - tree_.engine->now();
  for (const core::NodeId fork : tree_.forks.of(tree_.table, *node)) {
    const VerbResult result = terminate(tree_, fork, TerminateOptions(options));
    if (tree_.is_closed()) return;  // by a callback of a call that was cut
    if (result.reason == Errc::out_of_memory) throw std::bad_alloc();
    if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_change(fork);
  }
  if (tree_.table.find(op.agent)) node->extend_below(core::Node::deletes_forks, false);
}

void SecondHalves::close(std::unique_ptr<ControlOp>& op) {
  const core::NodeId agent = op->agent;
  const bool cascade = op->cascade;
  settler_.start(op);
  pending_.note_closed(agent, cascade);
}

}  // namespace agentcore::detail::tree
