#include "persist/recorder.hpp"

#include "persist/record_kinds.hpp"
#include "turn/turn_data.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace agentcore::detail::persist {
namespace {

// Events that change nothing that is kept.
constexpr EventKinds of_no_interest = event_kind<DeltaReceived> | event_kind<ReasoningReceived> |
                                      event_kind<ToolProgress> | event_kind<Discarded> |
                                      event_kind<AgentRestored> | event_kind<StopPersisted> |
                                      event_kind<MessagePersisted> | event_kind<ContextTrimmed>;

constexpr EventKinds of_mail = event_kind<TurnStarted> | event_kind<MessageDropped> | event_kind<Steered>;

// A turn, or tokens, may have been counted in the budgets of the agent's ancestors.
constexpr EventKinds of_usage = event_kind<TurnStarted> | event_kind<StateChanged> |
                                event_kind<ModelCallEnded> | event_kind<CompactionChanged>;

constexpr EventKinds of_each_turn =
    event_kind<AgentCreated> | event_kind<TurnEnded> | event_kind<Settled> | event_kind<AgentDeleted> |
    event_kind<QueueHeld> | event_kind<PauseChanged> | event_kind<StopPending> |
    event_kind<ConversationChanged> | event_kind<QuestionAsked> | event_kind<QuestionClosed>;
constexpr EventKinds of_each_step = of_each_turn | event_kind<ToolStarted> | event_kind<ToolEnded> |
                                    event_kind<ToolRefused> | event_kind<ModelCallEnded> |
                                    event_kind<TaskChanged>;
constexpr EventKinds of_each_message = of_each_step | of_mail;

// Agents are closed or deleted, or what the store has becomes less.
constexpr EventKinds of_urgency = event_kind<Settled> | event_kind<AgentDeleted> | event_kind<QueueHeld> |
                                  event_kind<PauseChanged> | event_kind<StopPending> |
                                  event_kind<ConversationChanged>;

EventKinds kinds_of(Durability durability) noexcept {
  switch (durability) {
    case Durability::each_turn:
      return of_each_turn;
    case Durability::each_step:
      return of_each_step;
    case Durability::each_message:
      break;
  }
  return of_each_message;
}

// An import makes all its agents before the first of them is reported: an observer may create one below
// another that is not reported yet. Parents come before children.
void add_above(StoredAgents& agents, const core::Node& node) {
  std::vector<core::NodeId> missing;
  for (const core::Node* up = node.parent.load(std::memory_order_relaxed);
       up && !up->is_root_sentinel() && !agents.find(up->id());
       up = up->parent.load(std::memory_order_relaxed))
    missing.push_back(up->id());
  for (auto id = missing.rbegin(); id != missing.rend(); ++id) agents.add(*id);
}

}  // namespace

Recorder::Recorder(core::AgentTable& table, const Mail& mail, turn::Turns& turns, const loop::Engine& engine,
                   Durability durability)
    : table_(table),
      turns_(turns),
      at_once_(kinds_of(durability)),
      mail_at_once_(durability == Durability::each_message),
      mail_notes_(mail.notes),
      writer_(table, agents_, MailWriter(mail.pool, mail.steers, mail.cleared, engine), turns, engine) {
}

void Recorder::on_event(const core::Node& node, EventKinds kind) noexcept {
  if ((kind & of_no_interest) != 0) return;
  const core::NodeId id = node.id();
  due_ = due_ || (kind & at_once_) != 0;
  urgent_ = urgent_ || (kind & of_urgency) != 0;
  if ((kind & of_usage) != 0) note_accounts_above(node);
  StoredAgent* agent = agents_.find(id);
  // Observers of the fork's AgentCreated, who come next, may create agents as well.
  const core::Node* const origin =
      kind == event_kind<AgentCreated> ? std::exchange(origin_, nullptr) : nullptr;
  // Keys rise in the order of creation: no agent comes before one that is missing.
  if (!agent && kind == event_kind<AgentCreated> && !agents_.lost_any()) {
    try {
      add_above(agents_, node);
      agent = &agents_.add(id);
      if (origin) share(node, *agent, *origin);
    } catch (const std::bad_alloc&) {
      agents_.note_unknown();
    }
  }
  if (!agent) return;
  agent->mail_changed = agent->mail_changed || (kind & of_mail) != 0;
  if (kind == event_kind<TurnEnded>) agent->intents.clear();
  if (kind == event_kind<QueueHeld>) agent->held_by_restart = false;
  agents_.note(id, *agent);
}

void Recorder::on_turn_ended(const core::Node& node, MessageId message) noexcept {
  writer_.mail().note(message);
  note_accounts_above(node);
  try {
    batch_.acknowledgements.add({Acknowledgement::What::end_of_message, node.id(), message, {}});
  } catch (const std::bad_alloc&) {
    // The host gets no acknowledgement; nothing else depends on that.
  }
}

// The usage of a turn counts in the budgets of the agent's ancestors.
void Recorder::note_accounts_above(const core::Node& node) noexcept {
  for (const core::Node* up = node.parent.load(std::memory_order_relaxed); up && !up->is_root_sentinel();
       up = up->parent.load(std::memory_order_relaxed)) {
    const bool has_accounts = up->data && static_cast<const turn::TurnData&>(*up->data).accounts;
    StoredAgent* const agent = has_accounts ? agents_.find(up->id()) : nullptr;
    if (agent) agents_.note(up->id(), *agent);
  }
}

void Recorder::on_turn_counted(const core::Node& node) noexcept {
  due_ = due_ || (event_kind<TurnStarted> & at_once_) != 0;
  note_accounts_above(node);
  if (StoredAgent* const agent = agents_.find(node.id())) agents_.note(node.id(), *agent);
}

void Recorder::on_grants_changed(core::NodeId id) noexcept {
  due_ = urgent_ = true;
  StoredAgent* const agent = agents_.find(id);
  if (!agent) return;
  agent->grants_changed = true;
  agents_.note(id, *agent);
}

bool Recorder::may_begin(const core::Node& node, const std::string& call_id) noexcept {
  StoredAgent* const agent = agents_.find(node.id());
  if (!agent) {  // there was no memory for it yet
    agents_.note_unknown();
    due_ = true;
    return false;
  }
  const auto found = std::find_if(agent->intents.begin(), agent->intents.end(),
                                  [&](const Intent& intent) { return intent.call_id == call_id; });
  if (found != agent->intents.end() && found->state != Intent::State::noted)
    return found->state == Intent::State::stored;
  due_ = true;
  note_accounts_above(node);
  agents_.note(node.id(), *agent);
  try {
    if (found == agent->intents.end()) agent->intents.push_back({call_id, Intent::State::noted});
  } catch (const std::bad_alloc&) {
    agent->lost_intent = true;
  }
  return false;
}

bool Recorder::counts_mail(core::NodeId id) const noexcept {
  const StoredAgent* const agent = agents_.find(id);
  return agent && agent->counts_mail;
}

bool Recorder::may_begin(core::NodeId id, MessageId message) noexcept {
  StoredAgent* const agent = agents_.find(id);
  if (!agent) return true;
  const auto found = std::find_if(agent->mail.begin(), agent->mail.end(),
                                  [&](const StoredMail& mail) { return mail.id == message; });
  if (found == agent->mail.end() || !found->counts || found->begin == StoredMail::Begin::stored) return true;
  if (found->begin != StoredMail::Begin::none) return false;
  ++found->begun;
  found->begin = StoredMail::Begin::noted;
  agent->mail_changed = due_ = true;
  agents_.note(id, *agent);
  return false;
}

std::uint32_t Recorder::begun(core::NodeId id, MessageId message) const noexcept {
  const StoredAgent* const agent = agents_.find(id);
  if (!agent || !agent->counts_mail) return 1;
  const auto found = std::find_if(agent->mail.begin(), agent->mail.end(),
                                  [&](const StoredMail& mail) { return mail.id == message; });
  return found == agent->mail.end() ? 1 : std::max(found->begun, 1U);
}

void Recorder::note_change(core::NodeId id) noexcept {
  if (StoredAgent* const agent = agents_.find(id)) agents_.note(id, *agent);
  due_ = true;
}

void Recorder::note_edited_mail(const core::Node& node) noexcept {
  if (StoredAgent* const agent = agents_.find(node.id())) agent->mail_changed = agent->mail_edited = true;
  note_change(node.id());
}

void Recorder::note_mail(const core::Node& node) noexcept {
  if (StoredAgent* const agent = agents_.find(node.id())) agent->mail_changed = true;
  note_change(node.id());
}

void Recorder::note_stop(core::NodeId agent, std::string name, bool deletes) {
  using What = Acknowledgement::What;
  batch_.acknowledgements.add({deletes ? What::erasure : What::stop, agent, {}, std::move(name)});
  if (StoredAgent* const stored = agents_.find(agent)) agents_.note(agent, *stored);
  due_ = urgent_ = true;
}

void Recorder::set_origin(core::Node* origin) {
  origin_ = origin;
  StoredAgent* const from = origin ? agents_.find(origin->id()) : nullptr;
  // What the fork shares is in the store, or in the next batch.
  if (!from || from->all_changed) return;
  agents_.note(origin->id(), *from);
  writer_.write_conversation(batch_.changes, *origin, *from);
}

// A fork was created, and nothing has run since: it has the first messages of its origin, unchanged.
void Recorder::share(const core::Node& node, StoredAgent& agent, const core::Node& origin) {
  StoredAgent* const from = agents_.find(origin.id());
  if (!from || from->all_changed || !node.data) return;
  auto& conversation = static_cast<turn::TurnData&>(*node.data).conversation;
  agent.history =
      writer_.histories().share(origin.id(), from->history, node.id(), conversation.messages().size());
  conversation.changes() = {};
}

bool Recorder::is_due() const noexcept {
  return due_ || mail_notes_.is_due() || (mail_at_once_ && !mail_notes_.empty());
}

void Recorder::take_mail_notes() noexcept {
  const MailNotes::Taken taken = mail_notes_.take();
  if (taken.lost) agents_.note_unknown();
  for (const core::NodeId id : taken.agents)
    if (StoredAgent* const agent = agents_.find(id)) {
      agent->mail_changed = true;
      agents_.note(id, *agent);
    }
}

Batch Recorder::take() {
  due_ = true;  // stays so if this throws
  take_mail_notes();
  if (agents_.lost_any()) add_missing();
  agents_.write_changed([this](core::NodeId id) { write(id); });
  write_tree();
  batch_.acknowledgements.remove_if([this](const Acknowledgement& one) { return !is_in_force(one); });
  due_ = urgent_ = false;
  return std::exchange(batch_, {});
}

bool Recorder::is_in_force(const Acknowledgement& one) const noexcept {
  using What = Acknowledgement::What;
  if (one.what != What::stop && one.what != What::erasure) return true;
  const StoredAgent* const agent = agents_.find(one.agent);
  if (one.what == What::erasure) return !agent || agent->is_deleted_in_store;
  return one.agent == 0 ? tree_.stopped : !agent || !agent->is_open_in_store;
}

// There was no memory to note a new agent. Parents come before children.
void Recorder::add_missing() {
  std::vector<const core::Node*> open{&table_.root_sentinel()};
  while (!open.empty()) {
    const core::Node& parent = *open.back();
    open.pop_back();
    for (const core::Node* child = table_.first_child(parent); child; child = table_.next_sibling(*child)) {
      if (!agents_.find(child->id())) agents_.add(child->id()).lost_intent = true;
      open.push_back(child);
    }
  }
}

void Recorder::write(core::NodeId id) {
  StoredAgent* const agent = agents_.find(id);
  if (!agent) return;
  core::Node* const node = table_.find(id);
  if (!node || !node->spec) {
    writer_.erase(batch_.changes, id, *agent);
    agents_.remove(id);
    return;
  }
  try {
    writer_.write(batch_, *node, *agent);
  } catch (...) {
    agent->all_changed = true;
    throw;
  }
}

void Recorder::write_tree() {
  const core::PackedState packed = table_.root_sentinel().load();
  tree_.stopped = !packed.is_open() || packed.stop_grade() != core::Grade::none;
  tree_.stop_unsettled = tree_.stopped && packed.state() != AgentState::stopped;
  tree_.paused = packed.is_paused();
  tree_.next_key = agents_.next_key();
  tree_.next_spec = writer_.specs().next_number();
  tree_.next_segment = writer_.histories().next_segment();
  tree_.generation = std::max(tree_.generation, writer_.generation());
  tree_.sequence = std::max(tree_.sequence, writer_.mail().sequence());
  tree_.questions = std::max(tree_.questions, turns_.questions().list().last_number());
  tree_.grants = std::max(tree_.grants, turns_.permissions().table().last_id());
  if (stored_tree_ && *stored_tree_ == tree_) return;
  batch_.changes.put(key_of(Kind::tree), to_json(tree_));
  stored_tree_ = tree_;
}

void Recorder::begin(const TreeRecord& tree) {
  tree_ = tree;
  agents_.begin_at(tree.next_key);
  writer_.specs().begin_at(tree.next_spec);
  writer_.histories().begin_at(tree.next_segment);
}

// The pieces that a fork shares were added under the id of the agent.
void Recorder::erase(std::uint64_t key, const AgentRecord& record) {
  StoreBatch& changes = batch_.changes;
  changes.erase(key_of(Kind::agent, key));
  changes.erase(key_of(Kind::context, key));
  changes.erase(key_of(Kind::mail, key), last_of(Kind::mail, key));
  changes.erase(key_of(Kind::grant, key), last_of(Kind::grant, key));
  std::vector<Piece> pieces = record.history;
  writer_.histories().erase(changes, record.node, pieces);
  due_ = true;
}

void Recorder::erase_spec(std::uint64_t number) {
  batch_.changes.erase(key_of(Kind::spec, number));
  due_ = true;
}

void Recorder::adopt(const AgentRecord& record, std::uint64_t key, const SharedAgentSpec& spec,
                     std::vector<StoredMail> mail) {
  StoredAgent& agent = agents_.adopt(record.node);
  agent.key = key;
  agent.spec = spec.get();
  agent.spec_number = record.spec;
  agent.mail = std::move(mail);
  agent.counts_mail =
      std::any_of(agent.mail.begin(), agent.mail.end(), [](const StoredMail& one) { return one.counts; });
  agent.history = record.history;
  agent.has_context = record.has_context;
  agent.has_grants = record.has_grants;
  if (record.turn) agent.acknowledged_turn = record.turn->number;
  if (record.tool_turns != 0 || record.summary_tokens != 0 || !record.ended_tasks.empty())
    agent.unread =
        std::make_unique<Unread>(Unread{record.tool_turns, record.summary_tokens, record.ended_tasks});
  agent.is_loaded = record.history.empty() && !record.has_context && !agent.unread;
  writer_.specs().adopt(spec, record.spec);
  writer_.histories().add(record.node, record.history);
}

}  // namespace agentcore::detail::persist
