#include "tree/store_verbs.hpp"

#include "core/gates.hpp"
#include "mailbox/mailbox.hpp"
#include "mailbox/without_limit.hpp"
#include "tree/mailboxes.hpp"
#include "tree/restore_gaps.hpp"
#include "tree/restore_records.hpp"
#include "tree/restore_reporter.hpp"
#include "tree/stop.hpp"
#include "tree/subtree_cursor.hpp"

#include <agentcore/history.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <new>
#include <string>
#include <utility>

namespace agentcore::detail::tree {

using core::Node;
using core::PackedState;
using persist::AgentRecord;

namespace {

// The epoch of an agent that is restored as stopped, and the ticket of its mailbox.
constexpr std::uint32_t stopped_epoch = 1;

PackedState first_state(const StoredAgentOfTree& agent) noexcept {
  const std::uint32_t generation = core::generation_of(agent.record.node);
  const PackedState state = agent.is_stopped()
                                ? PackedState(generation, stopped_epoch, agent.gate, AgentState::stopped)
                                : PackedState(generation, 0, core::Gate::open, AgentState::idle);
  return state.with(core::layout::pause, agent.record.paused).with(core::layout::hold, agent.held);
}

// An interrupt has ended the turns of a subtree: the next commit has that, although the loop is still to end
// them.
void note_turns_below(const core::AgentTable& agents, const Node& root, persist::Recorder& recorder) {
  for (const Node* node = &root; node; node = next_parent_first(agents, root, *node, true))
    if (turn::is_active(*node) && core::is_interrupted(*node)) recorder.note_change(node->id());
}

// True if an agent, or one above it, holds the mailboxes below.
bool holds_below(const Node& node) noexcept {
  for (const Node* up = &node; up; up = up->parent.load(std::memory_order_acquire))
    if (up->load().is_held() && up->extends_below(Node::hold_below)) return true;
  return false;
}

// True if the conversation of the agent ends with that turn.
bool ends_with(const Node& node, std::uint64_t turn) noexcept {
  if (!node.data) return false;
  const auto& turns = static_cast<const turn::TurnData&>(*node.data).conversation.turns();
  return !turns.empty() && turns.back().turn == turn;
}

}  // namespace

std::optional<Error> StoreVerbs::problem_of(const SharedOrBorrowed<Store>& store) const {
  if (tree_.engine->closed() || tree_.is_closed())
    return Error{tree_.missing(), std::string(runtime_gone_text)};
  if (!store) return Error{Errc::invalid_config, "AgentTree::restore: the store is null"};
  if (tree_.persistence)
    return Error{Errc::invalid_config, "AgentTree::restore: the tree has a store already"};
  if (tree_.table.slots() > 1)
    return Error{Errc::invalid_config,
                 "AgentTree::restore: the tree has, or had, agents; call it before the first is created"};
  return std::nullopt;
}

std::shared_ptr<persist::Persistence> StoreVerbs::attached(std::shared_ptr<persist::OwnedStore> store,
                                                           RestoreOptions options) const {
  return std::make_shared<persist::Persistence>(
      persist::Persistence::Tree{
          tree_.lifetime, tree_.table, tree_.pool, tree_.steers, tree_.cleared, tree_.mail_notes, hub_,
          *tree_.engine, turns_, [this] { return tree_.handle(0); },
          [this](core::NodeId agent) {
            if (Node* const node = tree_.table.find(agent)) turns_.parked().go_on(*node);
          },
          [this](core::NodeId agent) {
            if (Node* const node = tree_.table.find(agent)) scheduler_.schedule(*node);
          },
          [this](core::NodeId agent, std::string reason) {
            const core::NodeId root = tree_.table.root_sentinel().id();
            static_cast<void>(stop(tree_, agent ? agent : root, {.reason = std::move(reason)}));
          },
          [this] { return has_resumes(); }},
      std::move(store), std::move(options));
}

Result<RestoreReport> StoreVerbs::restore(SharedOrBorrowed<Store> store, RestoreOptions options) {
  assert(tree_.is_closed() || tree_.engine->on_loop_thread());
  if (auto problem = problem_of(store)) return *std::move(problem);
  const LoopEntry entry(tree_.lifetime);
  try {
    const StoreSync sync = options.sync;
    auto taken = persist::OwnedStore::take(std::move(store), sync);
    if (!taken) return taken.error();
    const auto owned = std::make_shared<persist::OwnedStore>(*std::move(taken));
    auto persistence = attached(owned, std::move(options));
    StoredTree stored;
    if (auto read = stored.read(*persistence, tree_, turns_); !read) return read.error();
    auto created = create(stored, *persistence);
    RestoreReporter reporter(tree_, turns_, scheduler_, hub_);
    RestoreRecords records(tree_);
    RestoreReport report;
    try {
      if (created) created = reserve_numbers(stored, *owned, sync);
      if (created) report = reporter.report_of(stored);
      if (created) records.make(stored);
      if (created) tree_.engine->add_source(persistence);
    } catch (...) {
      withdraw(stored);
      throw;
    }
    if (!created) {
      withdraw(stored);
      return created.error();
    }
    begin(stored, std::move(persistence));
    records.report();
    reporter.emit(stored);
    return report;
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

void StoreVerbs::note_verb(const ControlOp& op) {
  persist::Recorder* const recorder = tree_.recorder();
  if (!recorder) return;
  const Node* const node = tree_.table.find(op.agent);
  switch (op.verb) {
    case Verb::stop:
    case Verb::terminate:
      if (!op.took_effect || op.is_recorded || !node) return;
      if (node->is_root_sentinel())
        recorder->note_stop(0, {}, false);
      else
        recorder->note_stop(op.agent, tree_.table.names().name_of(*node, op.agent),
                            op.verb == Verb::terminate);
      op.is_recorded = true;
      return;
    case Verb::abort:
    case Verb::interrupt:
      if (!node) return;
      if (op.clear_up_to || op.withdrawn) recorder->note_mail(*node);
      // Of a subtree: a hold that there was may include it from now on.
      if (op.hold || op.cascade || op.epoch) recorder->note_change(node->id());
      if (op.cascade) note_turns_below(tree_.table, *node, *recorder);
      return;
    case Verb::release_queue:
    case Verb::resume:
    case Verb::pause:
    case Verb::unpause:
      if (node && !node->is_root_sentinel()) return recorder->note_change(node->id());
      return recorder->note_tree();
    default:
      return;
  }
}

// The verbs whose operations the loop has not read.
void StoreVerbs::note_queued() {
  tree_.control.for_each([this](const ControlOp& op) { note_verb(op); });
}

// True while a resume is queued, or still has agents to open.
bool StoreVerbs::has_resumes() const noexcept {
  bool any = settler_.has_resumes();
  tree_.control.for_each(
      [&any](const ControlOp& op) { any = any || (op.verb == Verb::resume && !op.withdraws); });
  return any;
}

Result<void> StoreVerbs::flush() {
  if (!tree_.persistence || tree_.is_closed()) return {};
  const LoopEntry entry(tree_.lifetime);
  try {
    note_queued();
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
  return tree_.persistence->flush();
}

// A verb whose second half is still queued is noted for the same commit.
bool StoreVerbs::when_stored(std::function<void(const Result<void>&)> done,
                             std::optional<std::string> stop_of) {
  if (!tree_.persistence || tree_.is_closed()) return false;
  note_queued();
  tree_.persistence->when_stored(std::move(done), std::move(stop_of));
  return true;
}

void StoreVerbs::set_task_mark(core::NodeId agent, bool marked) noexcept {
  Node* const node = tree_.table.find(agent);
  if (!node || node->extend_below(Node::of_task, marked) == marked) return;
  if (persist::Recorder* const recorder = tree_.recorder()) recorder->note_change(agent);
}

bool StoreVerbs::has_task_mark(core::NodeId agent) const noexcept {
  const Node* const node = tree_.table.find(agent);
  return node && node->extends_below(Node::of_task);
}

std::uint64_t StoreVerbs::turns_begun(core::NodeId agent) const noexcept {
  const Node* const node = tree_.table.find(agent);
  return node ? node->turns : 0;
}

void StoreVerbs::close() noexcept {
  if (!tree_.persistence) return;
  tree_.engine->guarded("a store", [&] { note_queued(); });
  tree_.persistence->close();
  tree_.engine->remove_source(tree_.persistence.get());
}

Result<void> StoreVerbs::create(StoredTree& stored, persist::Persistence& persistence) {
  try {
    persist::Recorder& recorder = *persistence.recorder();
    recorder.begin(first_record(stored));
    const RestoreOptions& options = persistence.options();
    for (const auto& agent : stored.agents())
      if (options.turns == InterruptedTurns::go_on && !agent->is_stopped())
        agent->count_mail(options.max_attempts);
    reserve(stored);
    for (const auto& agent : stored.agents()) {
      if (agent->is_deleted)
        recorder.histories().add(agent->record.node, agent->record.history);
      else if (auto placed = place(*agent, persistence); !placed)
        return placed;
    }
    recorder.histories().end_adding();
    for (const auto& agent : stored.agents())
      if (agent->is_deleted) recorder.erase(agent->key, agent->record);
    for (const auto& [number, spec] : stored.specs())
      if (!spec.is_used) recorder.erase_spec(number);
    return {};
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

// The tree goes on with the numbers and the identity that the store has.
persist::TreeRecord StoreVerbs::first_record(const StoredTree& stored) {
  persist::TreeRecord record;
  if (!stored.is_empty()) record = raised(stored.tree());
  record.epoch = stored.tree().epoch;
  record.identity = turns_.restorer().identify(record.identity);
  record.swept = true;
  return record;
}

void StoreVerbs::reserve(StoredTree& stored) {
  if (stored.is_empty()) return;
  std::vector<core::NodeId> ids;
  std::vector<MessageId> messages;
  for (const auto& agent : stored.agents()) {
    if (agent->is_deleted) continue;
    ids.push_back(agent->record.node);
    if (agent->is_stopped() && !agent->is_stopped_as_unusable()) continue;
    for (const persist::MailRecord& mail : agent->mail) messages.push_back(mail.id);
    if (agent->record.turn) messages.push_back(agent->record.turn->message);
  }
  const persist::TreeRecord numbers = raised(stored.tree());
  tree_.table.reserve(std::move(ids), static_cast<std::uint32_t>(numbers.generation) + 1);
  tree_.pool.restore(std::move(messages), numbers.sequence + 1);
  turns_.questions().list().reserve(numbers.questions);
  turns_.permissions().table().reserve(numbers.grants);
}

// Before an id is given: the next restart leaves out what this run gives, although it may not commit it.
Result<void> StoreVerbs::reserve_numbers(const StoredTree& stored, persist::OwnedStore& store,
                                         StoreSync sync) {
  if (stored.is_empty()) return {};
  StoreBatch batch = stored.sweep();
  batch.use_reserve(true);  // it replaces a record, and erases
  // Before the turn goes on: if that ends the process, the next restart counts it.
  for (const auto& agent : stored.agents())
    if (agent->counts_attempt)
      batch.put(persist::key_of(persist::Kind::agent, agent->key), to_json(agent->record));
  batch.put(persist::key_of(persist::Kind::tree), to_json(first_record(stored)));
  return store.commit(batch, sync);
}

Result<void> StoreVerbs::place(StoredAgentOfTree& agent, persist::Persistence& persistence) {
  persist::Recorder& recorder = *persistence.recorder();
  const AgentRecord& record = agent.record;
  Node& parent = agent.parent ? *tree_.table.find(agent.parent->record.node) : tree_.table.root_sentinel();
  agent.decide_hold(persistence.options().turns, holds_below(parent));
  Node& node = factory_.place(parent, {record.node, record.name, first_state(agent), agent.spec->spec,
                                       agent.spec->answer_check, static_cast<std::uint32_t>(record.turns)});
  recorder.adopt(record, agent.key, agent.spec->spec, agent.mail_records);
  if (auto loaded = load(node, agent, persistence); !loaded) return loaded;
  if (agent.is_stopped()) close(node, agent);
  if (record.holds_below) node.extend_below(Node::hold_below, true);
  if (record.of_task) node.extend_below(Node::of_task, true);
  factory_.set_accounts(node, record);
  give_mail(node, agent, recorder);
  if (!agent.given_up.empty()) give_up_mail(node, agent, recorder);
  turns_.permissions().table().restore(node.id(), std::move(agent.grants));
  if (record.origin != 0) tree_.forks.add(record.origin, record.node);
  if (record.origin != 0) turn::data_of(node).origin = record.origin;
  if (!record.tool_children.empty()) turn::data_of(node).tool_children = record.tool_children;
  recorder.agents().find(record.node)->held_by_restart = agent.held_by_restart;
  if (agent.is_derived()) recorder.note_change(record.node);
  if (agent.has_work() && agent.damage.empty()) place_work(node, agent, persistence);
  return {};
}

// The conversation of what was in progress. If it is damaged, the agent is stopped, and the store keeps all
// of it.
Result<void> StoreVerbs::load(Node& node, StoredAgentOfTree& agent, persist::Persistence& persistence) {
  if (!agent.has_work()) return {};
  Result<void> loaded = persistence.load(node);
  if (loaded || loaded.error().code != Errc::store_corrupt) return loaded;
  agent.damage = loaded.error().message;
  if (agent.is_stopped()) return {};
  agent.close();
  agent.decide_hold(persistence.options().turns, true);
  const bool has_lease = node.load().has_lease();
  node.packed.store(first_state(agent).with(core::layout::lease, has_lease).raw(), std::memory_order_seq_cst);
  if (agent.record.turn) tree_.pool.end_id(tree_.pool.cell_of(agent.record.turn->message));
  return {};
}

// A message that reserve() has kept.
void StoreVerbs::give_back(MessageId message) noexcept {
  const std::uint32_t cell = mailbox::MessagePool::number_of(message);
  tree_.pool.end_id(tree_.pool[cell]);
  tree_.pool.give(cell, cell);
}

void StoreVerbs::close(Node& node, const StoredAgentOfTree& agent) noexcept {
  static_cast<void>(mailbox::close(node, tree_.pool, stopped_epoch));
  if (agent.record.stays_stopped) node.extend_below(Node::stays_stopped, true);
  if (agent.is_unusable()) node.extend_below(Node::unusable, true);
  if (agent.is_unusable()) node.auto_resume.store(false, std::memory_order_relaxed);
  node.reported = AgentState::stopped;
  node.settling.stopped_by_ancestor = agent.stopped_by_ancestor;
  node.settling.is_alone = node.load().gate() == core::Gate::stop_self;
  node.settling.cause = agent.cause;
}

// What was in progress: a turn, and background tasks. Its conversation was loaded.
void StoreVerbs::place_work(Node& node, StoredAgentOfTree& agent, persist::Persistence& persistence) {
  if (agent.record.turn) place_turn(node, agent, persistence.options());
  for (const persist::TaskRecord& task : agent.record.tasks) {
    turn::note_lost_task(node, task.id, task.tool);
    agent.interrupted_calls.push_back({task.id, task.tool});
  }
  persistence.recorder()->note_change(node.id());
}

void StoreVerbs::place_turn(Node& node, StoredAgentOfTree& agent, const RestoreOptions& options) {
  const turn::StoredTurn& stored = *agent.record.turn;
  const bool may_go_on = stored.asked && !stored.delegated && !stored.over && !agent.is_stopped() &&
                         !node.spec->handler && ends_with(node, stored.number);
  if (may_go_on && turn::TurnRestorer::waits_for_people(node, stored)) return resume_turn(node, agent);
  if (may_go_on && options.turns == InterruptedTurns::go_on) {
    if (stored.attempt < options.max_attempts) {
      ++agent.record.turn->attempt;
      agent.counts_attempt = true;
      return resume_turn(node, agent);
    }
    tree_.engine->log(LogLevel::error,
                      "a turn was begun as often as RestoreOptions::max_attempts allows, and is interrupted",
                      {{"agent", tree_.table.names().name_of(node, node.id())},
                       {"turn", std::to_string(stored.number)},
                       {"attempts", std::to_string(stored.attempt)}});
  }
  agent.fate = RestoredTurn::interrupted;
  agent.interrupted_calls = turn::TurnRestorer::end(node, stored);
  for (const turn::RestoredQuestion& question : stored.questions)
    agent.closed_questions.push_back(question.number);
  if (agent.is_stopped() && !agent.is_stopped_as_unusable()) return;  // reserve() has left out its messages
  give_back(stored.message);
}

// The message of the turn belongs to it until the turn is over.
void StoreVerbs::resume_turn(Node& node, StoredAgentOfTree& agent) {
  const turn::StoredTurn& stored = *agent.record.turn;
  // Its pause, its hold and its lease stay.
  node.packed.store(node.load().with(AgentState::processing).next_epoch().raw(), std::memory_order_seq_cst);
  node.reported = AgentState::processing;
  agent.fate = RestoredTurn::continues;
  agent.interrupted_calls = turns_.restorer().resume(node, stored);
  mailbox::Cell& cell = tree_.pool.cell_of(stored.message);
  cell.agent.store(node.id(), std::memory_order_relaxed);
  static_cast<void>(tree_.pool.begin(cell));
  node.message.store(mailbox::MessagePool::number_of(cell), std::memory_order_release);
}

// Each message goes before those that come after it, whatever its priority: the last one first.
void StoreVerbs::give_mail(Node& node, StoredAgentOfTree& agent, persist::Recorder& recorder) {
  if (agent.is_stopped()) {
    if (agent.is_stopped_as_unusable() || !agent.damage.empty())
      recorder.agents().find(node.id())->unusable = agent.unusable();
    if (!agent.is_stopped_as_unusable()) {
      if (!agent.mail.empty()) recorder.note_edited_mail(node);
      return;
    }
    // The store keeps them, so no other message gets their cells.
    for (const persist::MailRecord& mail : agent.mail) tree_.pool.end_id(tree_.pool.cell_of(mail.id));
    return;
  }
  const mailbox::WithoutLimit all(node);
  for (auto mail = agent.mail.rbegin(); mail != agent.mail.rend(); ++mail) {
    const std::uint32_t cell = mailbox::MessagePool::number_of(mail->id);
    std::unique_ptr<SendOptions> options;
    if (mail->deadline) {
      options = std::make_unique<SendOptions>();
      options->deadline = loop::restored_deadline(*mail->deadline, tree_.engine->clock());
    }
    tree_.pool[cell].put(std::move(mail->message), std::move(options), mail->simulated);
    static_cast<void>(mailbox::push_front(node, tree_.pool, tree_.cleared, cell, node.load().epoch(),
                                          tree_.cleared.count()));
    if (const auto deadline = tree_.pool[cell].deadline())
      watch_deadline(tree_, node.id(), mail->id, *deadline);
  }
}

// Messages whose turns were begun as often as RestoreOptions::max_attempts allows, before the store had the
// turns. RestoreReporter emits what became of them.
void StoreVerbs::give_up_mail(Node& node, StoredAgentOfTree& agent, persist::Recorder& recorder) {
  recorder.note_edited_mail(node);
  if (!agent.record.turn) agent.fate = RestoredTurn::interrupted;
  for (const persist::MailRecord& mail : agent.given_up)
    tree_.engine->log(LogLevel::error,
                      "a turn was begun as often as RestoreOptions::max_attempts allows, and is interrupted",
                      {{"agent", tree_.table.names().name_of(node, node.id())},
                       {"message", to_string(mail.id)},
                       {"attempts", std::to_string(mail.begun)}});
}

void StoreVerbs::close_tree(const persist::TreeRecord& tree) noexcept {
  Node& sentinel = tree_.table.root_sentinel();
  PackedState packed = sentinel.load();
  if (tree.stopped) {
    packed = PackedState(packed.generation(), stopped_epoch, core::Gate::stop_tree, AgentState::stopped);
    static_cast<void>(mailbox::close(sentinel, tree_.pool, stopped_epoch));
    sentinel.reported = AgentState::stopped;
  }
  sentinel.packed.store(packed.with(core::layout::pause, tree.paused).raw(), std::memory_order_seq_cst);
}

// A restore has failed: children before parents.
void StoreVerbs::withdraw(StoredTree& stored) noexcept {
  tree_.forks.clear();
  for (auto agent = stored.agents().rbegin(); agent != stored.agents().rend(); ++agent)
    if (Node* const node = tree_.table.find((*agent)->record.node)) {
      static_cast<void>(tree_.call_index.remove_turn(node->id()));
      turns_.permissions().table().forget(node->id());
      static_cast<void>(mailbox::close(*node, tree_.pool, node->load().epoch() + 1));
      tree_.table.erase(*node);
    }
}

// From here on nothing fails.
void StoreVerbs::begin(StoredTree& stored, std::shared_ptr<persist::Persistence> persistence) {
  if (!stored.is_empty()) close_tree(stored.tree());
  tree_.persistence = std::move(persistence);
  persist::Recorder& recorder = *tree_.persistence->recorder();
  if (stored.tree().stop_unsettled) recorder.note_tree();
  hub_.changes = &recorder;
  tree_.mail_notes.enable(true);
  turns_.parked().note_pause();  // some may be paused
  scheduler_.expect_parked();    // turns wait for the store before tool calls
  for (const auto& agent : stored.agents()) {
    Node* const node = agent->is_deleted ? nullptr : tree_.table.find(agent->record.node);
    if (node && !agent->mail.empty() && !agent->is_stopped()) tree_.ready.add(*node);
  }
  tree_.waker->notify();
}

}  // namespace agentcore::detail::tree
