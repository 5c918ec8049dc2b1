// StoredTree: the agents that a store has, read and checked.
#pragma once

#include "persist/agent_record.hpp"
#include "persist/mail_record.hpp"
#include "persist/persistence.hpp"
#include "persist/record_kinds.hpp"
#include "persist/stored_forest.hpp"
#include "persist/tree_record.hpp"
#include "tree/tree_shared.hpp"
#include "turn/turns.hpp"

#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace agentcore::detail::tree {

// A spec, and the agents' code that it names.
struct StoredSpecOfAgents {
  SharedAgentSpec spec;
  std::string unbound;  // what of its code was not found
  std::shared_ptr<const turn::AnswerCheck> answer_check;
  bool is_used = false;  // by an agent that is restored
};

// An agent, and the state in which it is restored.
struct StoredAgentOfTree : persist::FoundState {
  std::uint64_t key = 0;
  persist::AgentRecord record;
  const StoredAgentOfTree* parent = nullptr;  // null: it is a root
  const StoredSpecOfAgents* spec = nullptr;
  std::vector<persist::MailRecord> mail;          // in the order of taking
  std::vector<persist::StoredMail> mail_records;  // of these
  std::vector<turn::StoredGrant> grants;
  std::size_t depth = 1;
  bool origin_moved = false;  // as in ForestAgent
  // Set when the agent is placed.
  bool held = false;             // no message may begin a turn until release_queue()
  bool held_by_restart = false;  // and no verb has asked for that
  std::string damage;            // why its conversation cannot be read
  RestoredTurn fate = RestoredTurn::none;
  bool counts_attempt = false;                // the turn goes on, and `record` says how often it did
  std::vector<persist::MailRecord> given_up;  // messages whose turns were begun too often
  std::vector<InterruptedCall> interrupted_calls;
  std::vector<std::uint64_t> closed_questions;  // the numbers of those of the turn, which has ended

  // A turn or tasks were in progress.
  bool has_work() const noexcept { return record.turn.has_value() || !record.tasks.empty(); }
  bool is_unbound() const noexcept { return !spec->unbound.empty(); }
  bool is_unusable() const noexcept { return is_unbound() || !damage.empty(); }
  // Each message is counted when its turn begins. Those that were begun so often are not restored.
  void count_mail(std::uint32_t max_attempts);
  // `is_covered`: a hold of an ancestor holds the mailbox, too.
  void decide_hold(InterruptedTurns turns, bool is_covered) noexcept;
  // Else it would be idle.
  bool is_stopped_as_unusable() const noexcept {
    return is_unusable() && record.gate == core::Gate::open && record.grade == core::Grade::none &&
           !is_closed_above;
  }
  // True if its state is not as its record says, because of an ancestor, a verb that had not taken effect, or
  // the restart. It is then written: later, the record alone may no longer tell.
  bool is_derived() const noexcept;
  // What the next restart finds of it.
  std::unique_ptr<persist::Unusable> unusable() const;
  // It is stopped, because it is unusable.
  void close() noexcept;
};

class StoredTree {
 public:
  // Error: nothing of it may be used.
  Result<void> read(persist::Persistence& persistence, const TreeShared& tree, turn::Turns& turns);

  const persist::TreeRecord& tree() const noexcept { return tree_; }
  bool is_empty() const noexcept { return is_empty_; }
  // In the order of creation: parents before children.
  std::vector<std::unique_ptr<StoredAgentOfTree>>& agents() noexcept { return agents_; }
  const std::vector<std::unique_ptr<StoredAgentOfTree>>& agents() const noexcept { return agents_; }
  const std::unordered_map<std::uint64_t, StoredSpecOfAgents>& specs() const noexcept { return specs_; }
  // Erases of records that belong to no agent.
  const StoreBatch& sweep() const noexcept { return sweep_; }

 private:
  void read_all(persist::Persistence& persistence, const TreeShared& tree, turn::Turns& turns);
  void check_numbers() const;
  void add_spec(std::uint64_t number, persist::StoredSpec stored, const CodeRegistry& code,
                turn::Turns& turns);
  void add_agent(persist::ForestAgent&& from);
  void check_limits(const TreeOptions& options) const;
  void find_unowned(persist::Persistence& persistence, const std::vector<std::uint64_t>& contexts);

  persist::TreeRecord tree_;
  bool is_empty_ = true;
  std::unordered_map<std::uint64_t, StoredSpecOfAgents> specs_;
  std::vector<std::unique_ptr<StoredAgentOfTree>> agents_;
  std::unordered_map<std::uint64_t, StoredAgentOfTree*> by_key_;
  StoreBatch sweep_;
};

}  // namespace agentcore::detail::tree
