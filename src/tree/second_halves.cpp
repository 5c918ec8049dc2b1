#include "tree/second_halves.hpp"

namespace agentcore::detail::tree {

void SecondHalves::start(std::unique_ptr<ControlOp>& op) {
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
      return close(op);
  }
}

void SecondHalves::close(std::unique_ptr<ControlOp>& op) {
  const core::NodeId agent = op->agent;
  const bool cascade = op->cascade;
  settler_.start(op);
  pending_.note_closed(agent, cascade);
}

}  // namespace agentcore::detail::tree
