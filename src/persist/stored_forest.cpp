#include "persist/stored_forest.hpp"

#include "core/name_table.hpp"
#include "mailbox/message_pool.hpp"
#include "persist/grant_record.hpp"
#include "persist/record_kinds.hpp"

#include <agentcore/display.hpp>

#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::persist {
namespace {

// More slots of agents than were needed, or cells of messages, are not made for a damaged record: 128 MiB and
// 1 GiB.
constexpr std::uint32_t usual_slots = 1U << 20;
constexpr std::uint32_t usual_cells = 1U << 24;
constexpr std::uint64_t max_grant = std::uint64_t{1} << 62;

// What ends the reading: an error as an exception.
struct CannotRead {
  Error error;
};

[[noreturn]] void refuse_stored(std::string_view kind, std::uint64_t owner, std::string_view why) {
  throw CannotRead{corrupt_record(kind, owner, why)};
}

// Null: a record of that kind is not read.
const char* name_of_kind(Kind kind) noexcept {
  switch (kind) {
    case Kind::tree:
      return "tree";
    case Kind::spec:
      return "spec";
    case Kind::agent:
      return "agent";
    case Kind::mail:
      return "mail";
    case Kind::grant:
      return "grant";
    case Kind::context:
    case Kind::history:
      break;
  }
  return nullptr;
}

}  // namespace

Error corrupt_record(std::string_view kind, std::uint64_t owner, std::string_view why) {
  return {Errc::store_corrupt, "the store cannot be restored: the " + std::string(kind) + " record " +
                                   std::to_string(owner) + ' ' + std::string(why)};
}

Result<TreeRecord> tree_of(std::string_view body) {
  try {
    TreeRecord tree = read_tree(body);
    if (tree.format <= TreeRecord::format_now) return tree;
    return Error{Errc::store_newer, "the store has agents in format " + std::to_string(tree.format) +
                                        "; this version of the library reads up to format " +
                                        std::to_string(TreeRecord::format_now)};
  } catch (const nlohmann::json::exception& error) {
    return corrupt_record("tree", 0, std::string("cannot be read: ") + error.what());
  }
}

std::string ForestAgent::id() const {
  return record.name.empty() ? core::NameTable::generated(record.node) : record.name;
}

Result<void> StoredForest::read(const ReadRange& read) {
  try {
    const auto done = read(key_of(Kind::tree), last_of(Kind::grant),
                           [this](const RecordKey& key, std::string_view body) { add(key, body); });
    if (!done) return done.error();
    check_ids();
    return {};
  } catch (CannotRead& problem) {
    return std::move(problem.error);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

const ForestAgent* StoredForest::find(std::string_view id) const {
  for (const auto& agent : agents_)
    if (agent->id() == id) return agent.get();
  return nullptr;
}

void StoredForest::add(const RecordKey& key, std::string_view body) {
  const Kind kind{key.kind};
  if (kind == Kind::context) {
    const auto agent = by_key_.find(key.owner);
    if (agent == by_key_.end() || !agent->second->record.has_context) unowned_contexts_.push_back(key.owner);
    return;
  }
  const char* const name = name_of_kind(kind);
  if (!name) return;
  try {
    if (kind == Kind::tree)
      add_tree(body);
    else if (kind == Kind::spec)
      add_spec(key.owner, body);
    else if (kind == Kind::agent)
      add_agent(key.owner, body);
    else if (kind == Kind::mail)
      add_mail(key, body);
    else
      add_grant(key, body);
  } catch (const nlohmann::json::exception& error) {
    refuse_stored(name, key.owner, std::string("cannot be read: ") + display(error.what()));
  }
}

void StoredForest::add_tree(std::string_view body) {
  Result<TreeRecord> tree = tree_of(body);
  if (!tree) throw CannotRead{tree.error()};
  tree_ = *std::move(tree);
  TreeRecord empty;  // of a store that had an owner, and no agent yet
  empty.epoch = tree_.epoch;
  is_empty_ = tree_ == empty;
}

void StoredForest::add_spec(std::uint64_t number, std::string_view body) {
  if (number >= tree_.next_spec) refuse_stored("spec", number, "is newer than the tree record");
  specs_.emplace(number, read_spec(body));
}

void StoredForest::add_agent(std::uint64_t key, std::string_view body) {
  auto agent = std::make_unique<ForestAgent>();
  agent->key = key;
  agent->record = read_agent(body);
  const AgentRecord& record = agent->record;
  const std::uint32_t index = core::index_of(record.node);
  const std::uint32_t generation = core::generation_of(record.node);
  if (index == 0 || index == core::no_node || generation == 0 || generation > tree_.generation)
    refuse_stored("agent", key, "has an invalid id");
  if (!record.name.empty() && !core::NameTable::is_valid(record.name))
    refuse_stored("agent", key, "has an invalid name");
  if (key >= tree_.next_key) refuse_stored("agent", key, "is newer than the tree record");
  // A slot is made for an agent, and used again by later ones.
  if (index > tree_.next_key + usual_slots) refuse_stored("agent", key, "has an id that is out of range");
  for (const Piece& piece : record.history)
    if (piece.segment >= tree_.next_segment)
      refuse_stored("agent", key, "has a segment of history that is newer than the tree record");
  if (record.turn && (record.turn->number != record.turns || !is_valid(record.turn->message)))
    refuse_stored("agent", key, "has an invalid turn");
  if (record.parent != 0) {
    const auto parent = by_key_.find(record.parent);
    if (parent == by_key_.end()) refuse_stored("agent", key, "has no parent");
    agent->parent = parent->second;
    agent->depth = parent->second->depth + 1;
  }
  if (specs_.count(record.spec) == 0) refuse_stored("agent", key, "has no spec");
  agent->found = found_state(record, agent->parent ? &agent->parent->found : nullptr, tree_.stopped);
  find_origin(*agent);
  by_key_.emplace(key, agent.get());
  by_node_.emplace(record.node, agent.get());
  agents_.push_back(std::move(agent));
}

// What a delete with its forks had not finished, and what a delete without them leaves. The origin of a fork
// and its parent were read before it.
void StoredForest::find_origin(ForestAgent& agent) const {
  const auto found = by_node_.find(agent.record.origin);
  const ForestAgent* const origin = found == by_node_.end() ? nullptr : found->second;
  agent.forks_go = (agent.record.deletes_forks && agent.found.is_deleted) ||
                   (agent.parent && agent.parent->forks_go) || (origin && origin->forks_go);
  agent.found.is_deleted = agent.found.is_deleted || agent.forks_go;
  if (agent.record.origin == 0 || (origin && !origin->found.is_deleted)) return;
  agent.record.origin = origin ? origin->record.origin : 0;
  agent.origin_moved = true;
}

void StoredForest::add_mail(const RecordKey& key, std::string_view body) {
  ForestAgent& agent = agent_of("mail", key);
  MailRecord mail = read_mail(body);
  if (!is_valid(mail.id)) refuse_stored("mail", key.owner, "has an invalid message id");
  if (key.number > RecordKey::max / 2) refuse_stored("mail", key.owner, "has a number that is out of range");
  agent.mail_records.push_back({mail.id, key.number, mail.begun});
  agent.mail.push_back(std::move(mail));
}

// A store of an earlier version has no number in the tree record.
void StoredForest::add_grant(const RecordKey& key, std::string_view body) {
  ForestAgent& agent = agent_of("grant", key);
  turn::StoredGrant grant = read_grant(body);
  if (grant.id == 0 || grant.id > max_grant)
    refuse_stored("grant", key.owner, "has an id that is out of range");
  tree_.grants = std::max(tree_.grants, grant.id);
  agent.grants.push_back(std::move(grant));
}

ForestAgent& StoredForest::agent_of(std::string_view kind, const RecordKey& key) {
  const auto agent = by_key_.find(key.owner);
  if (agent == by_key_.end()) refuse_stored(kind, key.owner, "has no agent");
  return *agent->second;
}

bool StoredForest::is_valid(MessageId message) const noexcept {
  return mailbox::MessagePool::number_of(message) != 0 &&
         mailbox::MessagePool::sequence_of(message) <= tree_.sequence;
}

// No two agents, messages, questions or grants have the same id.
void StoredForest::check_ids() const {
  std::unordered_set<std::uint32_t> slots, cells;
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::uint64_t> questions, grants;
  for (const auto& agent : agents_) {
    const AgentRecord& record = agent->record;
    if (!slots.insert(core::index_of(record.node)).second)
      refuse_stored("agent", agent->key, "has the id of another agent");
    if (!record.name.empty() && !names.insert(record.name).second)
      refuse_stored("agent", agent->key, "has the name of another agent");
    for (const MailRecord& mail : agent->mail)
      if (!cells.insert(mailbox::MessagePool::number_of(mail.id)).second)
        refuse_stored("mail", agent->key, "has the id of another message");
    for (const turn::StoredGrant& grant : agent->grants)
      if (!grants.insert(grant.id).second) refuse_stored("grant", agent->key, "has the id of another grant");
    if (!record.turn) continue;
    if (!cells.insert(mailbox::MessagePool::number_of(record.turn->message)).second)
      refuse_stored("agent", agent->key, "has a turn with the id of another message");
    for (const turn::RestoredQuestion& question : record.turn->questions)
      if (question.number == 0 || question.number > tree_.questions ||
          !questions.insert(question.number).second)
        refuse_stored("agent", agent->key, "has a question with an invalid id");
  }
  check_cells(cells);
}

// A tree makes all cells up to the greatest one.
void StoredForest::check_cells(const std::unordered_set<std::uint32_t>& cells) const {
  const std::size_t most = std::max<std::size_t>(usual_cells, 4 * cells.size());
  for (const auto& agent : agents_) {
    for (const MailRecord& mail : agent->mail)
      if (mailbox::MessagePool::number_of(mail.id) > most)
        refuse_stored("mail", agent->key, "has a message id that is out of range");
    if (agent->record.turn && mailbox::MessagePool::number_of(agent->record.turn->message) > most)
      refuse_stored("agent", agent->key, "has a turn with a message id that is out of range");
  }
}

}  // namespace agentcore::detail::persist
