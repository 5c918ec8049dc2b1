#include "tree/tree_core.hpp"

#include "mailbox/mailbox.hpp"
#include "tree/stop.hpp"

#include <exception>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;

namespace {

// A few agents with many messages have several rounds in one turn of the tree: a turn costs as much as a
// step.
constexpr std::uint32_t steps_at_once = 32;

}  // namespace

TreeCore::TreeCore(std::shared_ptr<loop::Engine> engine, const TreeOptions& options)
    : shared_(this, *this, std::move(engine), options),
      turns_(shared_.table, shared_.hub, *shared_.engine, *this, listener_,
             turn::Messages{shared_.pool, shared_.steers, shared_.acknowledgements},
             turn::Registries{shared_.operations, shared_.call_index, shared_.end_reasons},
             {options.llm.get(), options.max_answer_bytes, options.max_tool_result_bytes,
              options.max_message_bytes, options.tool_timeout, options.question_timeout, options.kept_results,
              options.stop_grace, options.max_lingering_calls, options.max_reasks,
              &shared_.options.tool_policy, shared_.cuts.get()}),
      settler_(shared_, shared_.hub, turns_),
      scheduler_(shared_, turns_, shared_.hub),
      conversation_verbs_(shared_, turns_, scheduler_, shared_.hub),
      factory_(shared_, turns_, shared_.hub),
      lease_timer_(shared_),
      store_verbs_(shared_, turns_, scheduler_, settler_, factory_, shared_.hub) {
  shared_.table.leases().set_stop([this](core::Lease& lease) { return stop_for_lease(shared_, lease); });
  retain();
  shared_.engine->add_source(std::shared_ptr<loop::Source>(
      this, [](loop::Source* self) { static_cast<TreeCore*>(self)->release(); }));
}

TreeCore::~TreeCore() = default;

void TreeCore::close() {
  if (shared_.closed.exchange(true, std::memory_order_seq_cst)) return;
  const LoopEntry entry(*this);
  store_verbs_.close();
  close_tree(shared_);
  shared_.hub.close();
  shared_.operations.shut_down();
  shared_.engine->remove_source(this);
}

void TreeCore::on_engine_closed() noexcept {
  const LoopEntry entry(*this);
  store_verbs_.close();
  close_tree(shared_);
  shared_.operations.refuse_outcomes();
  shared_.hub.close();
}

void TreeCore::before_loop_left() noexcept {
  events::Porch& porch = shared_.hub.porch;
  if (porch.has_entries() && std::uncaught_exceptions() == 0) porch.drain();
}

void TreeCore::on_loop_left() noexcept {
  const auto replaced = std::exchange(shared_.replaced_specs, {});  // their ends may run the host's code
  turns_.ends().free_ended();
  if (shared_.is_closed()) return purge();
  if (const std::uint64_t erased = shared_.table.erased(); erased != erased_) {
    erased_ = erased;
    turns_.ended().forget_deleted(shared_.table);
    turns_.permissions().forget_deleted();
    shared_.acknowledgements.forget_deleted(shared_.table);
  }
  if (shared_.engine->in_poll()) return;
  // Work has arisen outside of a poll, in the tree or for its store. Only this place announces it, whatever
  // it is. Last: it calls the host.
  const bool is_due = has_work() || (shared_.persistence && shared_.persistence->has_end_work());
  if (is_due) shared_.waker->notify();
}

// Frees what an agent holds beyond its slot. The slots stay: other threads may be reading them.
void TreeCore::purge() {
  settler_.clear();
  lease_timer_.clear();
  turns_.clear();
  shared_.control.clear();
  shared_.steers.clear();
  shared_.forks.clear();
  for (std::uint32_t index = 0; index < shared_.table.slots(); ++index) {
    Node& node = shared_.table.slot(index);
    // Other threads may be sending: from now on this mailbox refuses them. Callbacks are destroyed uncalled.
    const auto dropped = mailbox::close(node, shared_.pool, node.load().epoch());
    const auto spec = std::exchange(node.spec, nullptr);  // their destructors may run the host's code
    const auto data = std::exchange(node.data, nullptr);
  }
  const auto persistence = std::exchange(shared_.persistence, nullptr);  // its specs are the host's, too
  const SharedOrBorrowed<LlmClient> llm = std::exchange(shared_.options.llm, {});
  const ToolPolicy policy = std::exchange(shared_.options.tool_policy, {});
  const SharedOrBorrowed<StopAudit> audit = std::exchange(shared_.options.audit, {});
}

bool TreeCore::has_work() const noexcept {
  return has_control_work() || !shared_.ready.empty() || shared_.hub.porch.has_entries();
}

// What run_control() does.
bool TreeCore::has_control_work() const noexcept {
  return !shared_.control.empty() || shared_.operations.has_left() || settler_.has_work() ||
         scheduler_.has_work() || shared_.table.leases().wants_check();
}

bool TreeCore::has_pending() const noexcept {
  return settler_.jobs() != 0 || shared_.operations.open_count() != 0;
}

// Without its Runtime no operation in flight will ever end.
bool TreeCore::busy() const noexcept {
  return !shared_.engine->closed() && (has_work() || has_pending());
}

void TreeCore::run_control(loop::PollBudget& budget) {
  if (shared_.is_closed() || !(has_control_work() || shared_.hub.porch.has_entries())) return;
  const LoopEntry entry(*this);
  shared_.hub.porch.drain();  // what an exception has left
  if (shared_.is_closed() || shared_.hub.closed()) return;
  shared_.operations.cut_left();  // whatever the budget: a call that is not cut yet continues to receive
  if (shared_.is_closed() || shared_.hub.closed()) return;
  if (!run_second_halves(budget)) return;
  if (scheduler_.run_passes(budget) == Progress::tree_gone) return;
  settler_.run_pending(budget);
  if (!shared_.hub.closed()) settler_.run(budget);
  if (!shared_.hub.closed() && shared_.table.leases().take_request()) lease_timer_.update();
}

// False: the budget is used up, or the tree is destroyed.
bool TreeCore::run_second_halves(loop::PollBudget& budget) {
  ControlQueue& control = shared_.control;
  control.begin_batch();
  while (control.has_next()) {
    if (!budget.spend()) return false;
    std::unique_ptr<ControlOp> op = control.next();
    try {
      run_second_half(op);
    } catch (...) {  // an allocation failed: nothing has changed, the next poll tries again
      if (op) control.put_back(std::move(op));
      throw;
    }
    if (shared_.is_closed() || shared_.hub.closed()) return false;
  }
  return true;
}

// If it throws, `op` is still there, and is to be passed again.
void TreeCore::run_second_half(std::unique_ptr<ControlOp>& op) {
  store_verbs_.note_verb(*op);
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
      scheduler_.visit_agents();
      return settler_.change_pause(op);
    case Verb::resume:
      if (!op->withdraws) return settler_.start(op);
      scheduler_.visit_agents();
      return settler_.withdraw(*op);
    case Verb::stop:
    case Verb::terminate:
      if (op->when != StopWhen::now) scheduler_.expect_parked();
      return settler_.start(op);
  }
}

void TreeCore::run_round(loop::PollBudget& budget) {
  if (shared_.is_closed() || shared_.ready.empty()) return;  // run_control() may just have closed it
  const LoopEntry entry(*this);
  const std::uint32_t last = budget.used() + steps_at_once;
  do scheduler_.run_round(budget);
  while (!shared_.hub.closed() && budget.used() < last && !budget.exhausted() && !shared_.ready.empty() &&
         !has_control_work());
}

}  // namespace agentcore::detail::tree
