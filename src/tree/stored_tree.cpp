#include "tree/stored_tree.hpp"

#include "persist/grant_record.hpp"
#include "persist/spec_json.hpp"
#include "tree/options.hpp"
#include "tree/restore_gaps.hpp"

#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::detail::tree {
namespace {

using persist::AgentRecord;
using persist::Kind;

// What ends the reading: an error as an exception.
struct CannotRestore {
  Error error;
};

[[noreturn]] void refuse(Error error) {
  throw CannotRestore{std::move(error)};
}

[[noreturn]] void refuse_record(std::string_view kind, std::uint64_t owner, std::string_view why) {
  refuse({Errc::store_corrupt, "the store cannot be restored: the " + std::string(kind) + " record " +
                                   std::to_string(owner) + ' ' + std::string(why)});
}

void add_text(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : "; ") + text;
}

}  // namespace

Result<void> StoredTree::read(persist::Persistence& persistence, const TreeShared& tree, turn::Turns& turns) {
  try {
    read_all(persistence, tree, turns);
    return {};
  } catch (CannotRestore& problem) {
    return std::move(problem.error);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "out of memory"};
  }
}

void StoredTree::read_all(persist::Persistence& persistence, const TreeShared& tree, turn::Turns& turns) {
  each(persistence, Kind::tree, "tree", [&](const RecordKey&, std::string_view body) {
    tree_ = persist::read_tree(body);
    is_empty_ = false;
  });
  check_numbers();
  each(persistence, Kind::spec, "spec", [&](const RecordKey& key, std::string_view body) {
    add_spec(key.owner, body, persistence.options().code, turns);
  });
  each(persistence, Kind::agent, "agent",
       [&](const RecordKey& key, std::string_view body) { add_agent(key.owner, body); });
  each(persistence, Kind::mail, "mail",
       [&](const RecordKey& key, std::string_view body) { add_mail(key, body); });
  each(persistence, Kind::grant, "grant",
       [&](const RecordKey& key, std::string_view body) { add_grant(key, body); });
  check_ids();
  check_limits(tree.options);
}

// No two agents, messages or questions have the same id.
void StoredTree::check_ids() const {
  std::unordered_set<std::uint32_t> slots, cells;
  std::unordered_set<std::string_view> names;
  std::unordered_set<std::uint64_t> questions;
  for (const auto& agent : agents_) {
    const AgentRecord& record = agent->record;
    if (!slots.insert(core::index_of(record.node)).second)
      refuse_record("agent", agent->key, "has the id of another agent");
    if (!record.name.empty() && !names.insert(record.name).second)
      refuse_record("agent", agent->key, "has the name of another agent");
    for (const persist::MailRecord& mail : agent->mail)
      if (!cells.insert(mailbox::MessagePool::number_of(mail.id)).second)
        refuse_record("mail", agent->key, "has the id of another message");
    if (!record.turn) continue;
    if (!cells.insert(mailbox::MessagePool::number_of(record.turn->message)).second)
      refuse_record("agent", agent->key, "has a turn with the id of another message");
    for (const turn::RestoredQuestion& question : record.turn->questions)
      if (question.number > tree_.questions || !questions.insert(question.number).second)
        refuse_record("agent", agent->key, "has a question with an invalid id");
  }
}

void StoredTree::each(persist::Persistence& persistence, Kind kind, const char* what, const Read& read) {
  const auto done = persistence.read(
      persist::key_of(kind), persist::last_of(kind), [&](const RecordKey& key, std::string_view body) {
        try {
          read(key, body);
        } catch (const nlohmann::json::exception& error) {
          refuse_record(what, key.owner, std::string("cannot be read: ") + error.what());
        }
      });
  if (!done) refuse(done.error());
}

void StoredTree::check_numbers() const {
  if (tree_.format > persist::TreeRecord::format_now)
    refuse({Errc::store_newer, "the store has agents in format " + std::to_string(tree_.format) +
                                   "; this version of the library reads up to format " +
                                   std::to_string(persist::TreeRecord::format_now)});
  if (tree_.generation > std::numeric_limits<std::uint32_t>::max() - 2 * generation_gap ||
      tree_.sequence > max_sequence - 2 * sequence_gap)
    refuse_record("tree", 0, "has a number that is out of range");
}

void StoredTree::add_spec(std::uint64_t number, std::string_view body, const CodeRegistry& code,
                          turn::Turns& turns) {
  persist::StoredSpec stored = persist::read_spec(body);
  StoredSpecOfAgents spec;
  for (const std::string& field : stored.unnamed)
    add_text(spec.unbound, field + " has no name (AgentSpec::code)");
  if (const std::string missing = code.bind(stored.spec); !missing.empty())
    add_text(spec.unbound, missing + " is not in RestoreOptions::code");
  if (const auto problem = check_spec(stored.spec))
    refuse_record("spec", number, "is invalid: " + problem->message);
  auto check = turns.answer_check(stored.spec.response_format);
  if (!check) refuse_record("spec", number, "is invalid: " + check.error().message);
  spec.answer_check = *std::move(check);
  spec.spec = std::make_shared<const AgentSpec>(std::move(stored.spec));
  specs_.emplace(number, std::move(spec));
}

void StoredTree::add_agent(std::uint64_t key, std::string_view body) {
  auto agent = std::make_unique<StoredAgentOfTree>();
  agent->key = key;
  agent->record = persist::read_agent(body);
  const AgentRecord& record = agent->record;
  const std::uint32_t index = core::index_of(record.node);
  const std::uint32_t generation = core::generation_of(record.node);
  if (index == 0 || index == core::no_node || generation == 0 || generation > tree_.generation)
    refuse_record("agent", key, "has an invalid id");
  if (!record.name.empty() && !core::NameTable::is_valid(record.name))
    refuse_record("agent", key, "has an invalid name");
  if (key >= tree_.next_key) refuse_record("agent", key, "is newer than the tree record");
  if (record.turns > std::numeric_limits<std::uint32_t>::max())
    refuse_record("agent", key, "has a number of turns that is out of range");
  if (record.turn && (record.turn->number != record.turns || !is_valid(record.turn->message)))
    refuse_record("agent", key, "has an invalid turn");
  if (record.parent != 0) {
    const auto parent = by_key_.find(record.parent);
    if (parent == by_key_.end()) refuse_record("agent", key, "has no parent");
    agent->parent = parent->second;
    agent->depth = parent->second->depth + 1;
  }
  const auto spec = specs_.find(record.spec);
  if (spec == specs_.end()) refuse_record("agent", key, "has no spec");
  agent->spec = &spec->second;
  decide(*agent);
  spec->second.is_used = spec->second.is_used || !agent->is_deleted;
  by_key_.emplace(key, agent.get());
  agents_.push_back(std::move(agent));
}

void StoredTree::add_mail(const RecordKey& key, std::string_view body) {
  const auto agent = by_key_.find(key.owner);
  if (agent == by_key_.end()) refuse_record("mail", key.owner, "has no agent");
  persist::MailRecord mail = persist::read_mail(body);
  if (!is_valid(mail.id)) refuse_record("mail", key.owner, "has an invalid message id");
  agent->second->mail_records.push_back({mail.id, key.number});
  agent->second->mail.push_back(std::move(mail));
}

bool StoredTree::is_valid(MessageId message) const noexcept {
  return mailbox::MessagePool::number_of(message) != 0 &&
         mailbox::MessagePool::sequence_of(message) <= tree_.sequence;
}

void StoredTree::add_grant(const RecordKey& key, std::string_view body) {
  const auto agent = by_key_.find(key.owner);
  if (agent == by_key_.end()) refuse_record("grant", key.owner, "has no agent");
  agent->second->grants.push_back(persist::read_grant(body));
}

// What the state becomes: docs/design/store.md, "What a restart finds".
void StoredTree::decide(StoredAgentOfTree& agent) const noexcept {
  const AgentRecord& record = agent.record;
  const StoredAgentOfTree* const parent = agent.parent;
  const bool deferred = record.grade != core::Grade::none;
  agent.is_deleted = (parent && parent->is_deleted) || record.of_call ||
                     record.gate == core::Gate::terminate || (deferred && record.grade_deletes);
  const bool closed_above = parent ? parent->is_closed_below : tree_.stopped;
  const bool was_open = record.gate == core::Gate::open && !deferred;
  agent.cause = record.cause;
  agent.stopped_by_ancestor = record.stopped_by_ancestor;
  if (closed_above) {
    agent.gate = core::Gate::stop_tree;
    if (was_open) {
      agent.stopped_by_ancestor = true;
      agent.cause = StopCause::parent;
    }
  } else if (record.gate != core::Gate::open) {
    agent.gate = record.gate;
  } else if (deferred) {
    agent.gate = record.grade_below != core::Grade::none ? core::Gate::stop_tree : core::Gate::stop_self;
  } else if (agent.is_unbound()) {
    agent.gate = core::Gate::stop_self;
    agent.cause = StopCause::user;
  }
  // A resume of an ancestor does not open it: it would run without its code.
  if (agent.is_unbound()) agent.stopped_by_ancestor = false;
  agent.is_closed_below = closed_above || agent.gate == core::Gate::stop_tree;
}

void StoredTree::check_limits(const TreeOptions& options) const {
  std::size_t count = 0;
  for (const auto& agent : agents_) {
    if (agent->is_deleted) continue;
    ++count;
    if (agent->depth > options.max_depth)
      refuse({Errc::invalid_config, "the store has an agent at depth " + std::to_string(agent->depth) +
                                        "; TreeOptions::max_depth is " + std::to_string(options.max_depth)});
  }
  if (count > options.max_agents)
    refuse({Errc::invalid_config, "the store has " + std::to_string(count) +
                                      " agents; TreeOptions::max_agents is " +
                                      std::to_string(options.max_agents)});
}

}  // namespace agentcore::detail::tree
