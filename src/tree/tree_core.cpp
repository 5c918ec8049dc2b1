// The tree's lifetime, and its share of the loop.
#include "tree/tree_core.hpp"

#include <utility>

namespace agentcore::tree {

using core::Node;

TreeCore::TreeCore(std::shared_ptr<loop::Engine> engine, const TreeOptions& options)
    : engine_(std::move(engine)),
      waker_(engine_->waker()),
      options_(options),
      table_(engine_->number_tree()),
      hub_(this,
           [this](const std::function<void()>& call) {
             engine_->guarded("observer", call);
             if (engine_->closed()) hub_.close();  // it destroyed the Runtime
           }),
      turns_(table_, hub_, *engine_, *this,
             {options.llm, options.max_answer_bytes, options.max_tool_result_bytes, options.tool_timeout,
              options.question_timeout}),
      settler_(table_, pool_, hub_, turns_, *engine_, options.stop_grace) {
  retain();
  engine_->add_source(std::shared_ptr<loop::Source>(
      this, [](loop::Source* self) { static_cast<TreeCore*>(self)->release(); }));
}

TreeCore::~TreeCore() = default;

void TreeCore::close() {
  if (closed_.exchange(true, std::memory_order_seq_cst)) return;
  const Inside inside(*this);
  hub_.close();
  for (std::uint32_t slot = 0; slot < turns_.flights().slots(); ++slot)
    if (turns_.flights()[slot].node) turns_.flights().cut(slot);
  engine_->remove_source(this);
}

// Frees what an agent holds beyond its slot. The slots stay: foreign threads may be looking.
void TreeCore::purge() {
  settler_.clear();
  turns_.clear();
  ControlQueue::drop(std::exchange(taken_, nullptr));
  ControlQueue::drop(control_.take_all());
  for (std::uint32_t index = 0; index < table_.slots(); ++index) {
    Node& node = table_.slot(index);
    const auto spec = std::exchange(node.spec, nullptr);  // their ends may run the host's code
    const auto data = std::exchange(node.data, nullptr);
  }
}

bool TreeCore::has_work() const noexcept {
  return taken_ || !control_.empty() || turns_.flights().has_left() || settler_.has_work() || !ready_.empty();
}

// Without its Runtime nothing that is in flight will ever end.
bool TreeCore::busy() const noexcept {
  if (engine_->closed()) return false;
  return has_work() || settler_.jobs() != 0 || turns_.flights().open_count() != 0;
}

void TreeCore::run_control(loop::Budget& budget) {
  turn::Flights& flights = turns_.flights();
  if (closed() || (!taken_ && control_.empty() && !flights.has_left() && !settler_.has_work())) return;
  const Inside inside(*this);
  flights.cut_left();  // whatever the budget: a call that is not cut yet goes on receiving
  if (closed() || hub_.closed()) return;
  if (!taken_) taken_ = control_.take_all();
  while (taken_ && budget.spend()) {
    std::unique_ptr<ControlOp> op(std::exchange(taken_, taken_->next));
    const auto give_back = [&] {
      if (!op) return;
      op->next = taken_;
      taken_ = op.release();
    };
    try {
      start(op);
    } catch (...) {  // an allocation failed: nothing has changed, the next poll tries again
      give_back();
      throw;
    }
    if (closed() || hub_.closed()) return;
  }
  settler_.run(budget);
}

// Leaves `op` with the caller if it throws.
void TreeCore::start(std::unique_ptr<ControlOp>& op) {
  if (op->verb == Verb::abort) return finish_abort(*op);
  if (op->verb != Verb::let_go) return settler_.start(op);
  if (Node* const node = table_.find(op->agent)) settler_.let_go(*node);
}

void TreeCore::run_round(loop::Budget& budget) {
  if (closed() || ready_.empty()) return;  // run_control() may just have closed it
  const Inside inside(*this);
  ready_.begin_round();
  while (!taken_ && control_.empty() && budget.spend()) {  // a verb that comes in between goes first (C13)
    Node* node = ready_.next();
    if (!node) return;
    try {
      if (!turn::Turns::is_active(*node)) step(*node);  // else its end will schedule it
    } catch (...) {                                     // an allocation failed: it is tried again
      ready_.again(*node);
      throw;
    }
    if (closed() || hub_.closed()) return;
    if (wants_step(*node))
      ready_.again(*node);
    else if (ready_.done(*node); wants_step(*node))
      schedule(*node);
  }
}

// One agent's step: one message.
void TreeCore::step(Node& node) {
  const core::Stepping stepping(table_, node);
  const core::Word word = node.load(std::memory_order_seq_cst);
  if (word.state() != AgentState::idle || !core::admits(node, word.generation(), word.epoch())) return;
  if (node.shown !=
      AgentState::idle) {  // what another thread did to it, a resume, has not come to the loop yet
    hub_.state(node, AgentState::idle, StopCause::user);
    if (closed() || !core::admits(node, word.generation(), word.epoch())) return;
  }
  turns_.prepare(node);
  const std::uint32_t number = mailbox::take(node, pool_);
  if (!number) return;
  Message message = std::move(pool_[number].message);
  pool_.give_back(number);
  turns_.begin(node, std::move(message));
}

// A closed agent wants nothing: its mailbox is emptied when it settles, and a resume schedules it.
bool TreeCore::wants_step(const Node& node) const noexcept {
  const core::Word word = node.load();
  return word.state() == AgentState::idle && mailbox::length(node, word.generation()) != 0 &&
         !turn::Turns::is_active(node) && core::admits(node, word.generation(), word.epoch());
}

void TreeCore::schedule(Node& node) {
  if (wants_step(node) && ready_.add(node)) waker_->notify();
}

void TreeCore::let_go(Node& node) noexcept {
  const Inside inside(*this);
  if (hub_.telling() || settler_.reporting())
    let_go_later(node);  // no agent may be settled or removed before the callback has returned
  else
    settler_.let_go(node);
  if (!closed()) schedule(node);
}

void TreeCore::let_go_later(const Node& node) noexcept {
  auto op = prepared([&](ControlOp& made) {
    made.verb = Verb::let_go;
    made.agent = node.id();
  });
  if (op) return follow_up(std::move(op));
  settler_.look_again();
  waker_->notify();
}

// What follows from it comes to the loop as with any other stop.
void TreeCore::stop_for_budget(Node& node, std::string reason) {
  StopOptions options;
  options.cause = StopCause::budget;
  options.reason = std::move(reason);
  engine_->guarded("a log record", [&] {
    engine_->log(LogLevel::info, "a budget is used up",
                 {{"agent", table_.names().name_of(node, node.id())}, {"reason", options.reason}});
  });
  static_cast<void>(stop(node.id(), std::move(options)));
}

// The abort has already made the agent idle and cut its call; here its turn ends and its state is reported.
void TreeCore::finish_abort(ControlOp& op) {
  Node* node = table_.find(op.agent);
  if (!node) return;
  if (op.clear_up_to) mailbox::clear_up_to(*node, pool_, *op.clear_up_to);
  turns_.interrupt_before(*node, op.epoch);
  if (closed()) return;
  const core::Word word = node->load();
  if (word.state() == AgentState::idle && core::admits(*node, word.generation(), op.epoch))
    hub_.state(*node, AgentState::idle, op.cause);
  if (closed()) return;
  // Requirement A15 fixes the Chinese words, a translation of the English ones, and the key `agentId`.
  engine_->log(LogLevel::info, "a model call was aborted (LLM 调用已中断)",
               {{"agent", op.agent_name}, {"reason", op.reason}, {"agentId", op.agent_name}});
  schedule(*node);
}

}  // namespace agentcore::tree
