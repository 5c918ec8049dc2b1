#include "tree/stored_tree.hpp"

#include "persist/unowned_records.hpp"
#include "tree/options.hpp"
#include "tree/restore_gaps.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

namespace agentcore::detail::tree {
namespace {

// What a tree has room for whatever TreeOptions::max_agents says.
constexpr std::uint32_t usual_slots = 1U << 20;

// What ends the reading: an error as an exception.
struct CannotRestore {
  Error error;
};

[[noreturn]] void refuse(Error error) {
  throw CannotRestore{std::move(error)};
}

[[noreturn]] void refuse_record(std::string_view kind, std::uint64_t owner, std::string_view why) {
  refuse(persist::corrupt_record(kind, owner, why));
}

void add_text(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : "; ") + text;
}

}  // namespace

// An agent without its code has no turn: that ends, as for any agent that is stopped.
std::unique_ptr<persist::Unusable> StoredAgentOfTree::unusable() const {
  auto found = std::make_unique<persist::Unusable>();
  if (!damage.empty()) *found = {record.turn, record.tasks};
  found->is_open = is_stopped_as_unusable();
  return found;
}

bool StoredAgentOfTree::is_derived() const noexcept {
  if (origin_moved || held != record.held || held_by_restart != record.held_by_restart) return true;
  if (is_stopped_as_unusable()) return false;  // the store keeps it open
  return record.unsettled || gate != record.gate || record.grade != core::Grade::none ||
         stopped_by_ancestor != record.stopped_by_ancestor || cause != record.cause;
}

void StoredAgentOfTree::count_mail(std::uint32_t max_attempts) {
  for (persist::StoredMail& one : mail_records) one.counts = true;
  const auto is_left = [max_attempts](const persist::MailRecord& one) { return one.begun < max_attempts; };
  const auto left = std::stable_partition(mail.begin(), mail.end(), is_left);
  given_up.assign(std::make_move_iterator(left), std::make_move_iterator(mail.end()));
  mail.erase(left, mail.end());
}

void StoredAgentOfTree::decide_hold(InterruptedTurns turns, bool is_covered) noexcept {
  const bool waits = turns == InterruptedTurns::end && !is_stopped() && !mail.empty();
  held_by_restart = record.held ? record.held_by_restart : waits && !is_covered;
  held = record.held || held_by_restart;
}

void StoredAgentOfTree::close() noexcept {
  if (is_stopped()) return;
  gate = core::Gate::stop_self;
  cause = StopCause::user;
}

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
  persist::StoredForest forest;
  const auto done =
      forest.read([&](const RecordKey& first, const RecordKey& last, const persist::VisitRecord& visit) {
        return persistence.read(first, last, visit);
      });
  if (!done) refuse(done.error());
  tree_ = forest.tree();
  is_empty_ = forest.is_empty();
  check_numbers();
  for (auto& [number, spec] : forest.specs())
    add_spec(number, std::move(spec), persistence.options().code, turns);
  for (auto& agent : forest.agents()) add_agent(std::move(*agent));
  check_limits(tree.options);
  find_unowned(persistence, forest.unowned_contexts());
}

// An agent that is being deleted has its records until the first commit.
void StoredTree::find_unowned(persist::Persistence& persistence, const std::vector<std::uint64_t>& contexts) {
  persist::OwnedRecords owned;
  for (const auto& agent : agents_) owned.add(agent->record.history);
  const persist::ReadRange read = [&](const RecordKey& first, const RecordKey& last,
                                      const persist::VisitRecord& visit) {
    return persistence.read(first, last, visit);
  };
  const auto found = tree_.swept ? owned.unowned_segments(read) : owned.unowned_records(read);
  if (!found) refuse(found.error());
  for (const persist::UnownedRecords& range : *found)
    sweep_.erase(persist::key_of(persist::Kind::history, range.segment, range.first),
                 persist::key_of(persist::Kind::history, range.segment, range.last));
  for (const std::uint64_t key : contexts) sweep_.erase(persist::key_of(persist::Kind::context, key));
}

void StoredTree::check_numbers() const {
  if (tree_.generation > std::numeric_limits<std::uint32_t>::max() - 2 * generation_gap ||
      tree_.sequence > max_sequence - 2 * sequence_gap)
    refuse_record("tree", 0, "has a number that is out of range");
}

void StoredTree::add_spec(std::uint64_t number, persist::StoredSpec stored, const CodeRegistry& code,
                          turn::Turns& turns) {
  StoredSpecOfAgents spec;
  for (const std::string& field : stored.unnamed)
    add_text(spec.unbound, field + " has no name (AgentSpec::code)");
  if (const std::string missing = code.bind(stored.spec); !missing.empty())
    add_text(spec.unbound, missing + " is not in RestoreOptions::code");
  if (const auto problem = check_spec(stored.spec))
    refuse_record("spec", number, "is invalid: " + problem->message);
  auto check = turns.answer_check(stored.spec.model.response_format);
  if (!check) refuse_record("spec", number, "is invalid: " + check.error().message);
  spec.answer_check = *std::move(check);
  spec.spec = std::make_shared<const AgentSpec>(std::move(stored.spec));
  specs_.emplace(number, std::move(spec));
}

void StoredTree::add_agent(persist::ForestAgent&& from) {
  auto agent = std::make_unique<StoredAgentOfTree>();
  static_cast<persist::FoundState&>(*agent) = from.found;
  agent->key = from.key;
  agent->depth = from.depth;
  agent->origin_moved = from.origin_moved;
  agent->mail = std::move(from.mail);
  agent->mail_records = std::move(from.mail_records);
  agent->grants = std::move(from.grants);
  agent->record = std::move(from.record);
  if (agent->record.parent != 0) agent->parent = by_key_.at(agent->record.parent);
  StoredSpecOfAgents& spec = specs_.at(agent->record.spec);
  agent->spec = &spec;
  if (agent->is_unbound()) agent->close();
  spec.is_used = spec.is_used || !agent->is_deleted;
  by_key_.emplace(agent->key, agent.get());
  agents_.push_back(std::move(agent));
}

void StoredTree::check_limits(const TreeOptions& options) const {
  std::size_t count = 0;
  for (const auto& agent : agents_) {
    if (agent->is_deleted) continue;
    ++count;
    if (agent->depth > options.max_depth)
      refuse({Errc::invalid_config, "the store has an agent at depth " + std::to_string(agent->depth) +
                                        "; TreeOptions::max_depth is " + std::to_string(options.max_depth)});
    // The slots below it are made, too.
    const std::uint32_t slot = core::index_of(agent->record.node);
    if (slot > std::max(options.max_agents, usual_slots))
      refuse({Errc::invalid_config, "the store has an agent of a tree that had " + std::to_string(slot) +
                                        " agents at once; TreeOptions::max_agents is " +
                                        std::to_string(options.max_agents)});
  }
  if (count > options.max_agents)
    refuse({Errc::invalid_config, "the store has " + std::to_string(count) +
                                      " agents; TreeOptions::max_agents is " +
                                      std::to_string(options.max_agents)});
}

}  // namespace agentcore::detail::tree
