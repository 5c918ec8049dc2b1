// StoredAgents: what a store has of each agent of a tree, and which agents have changed since.
#pragma once

#include "core/node.hpp"
#include "persist/agent_record.hpp"
#include "persist/mail_writer.hpp"

#include <agentcore/agent_spec.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace agentcore::detail::persist {

// What of TurnData a store has, while the conversation was not read yet.
struct Unread {
  std::uint64_t tool_turns = 0;
  std::uint64_t summary_tokens = 0;
  std::string ended_tasks;
};

// A tool call of the turn in progress that is to begin, or has begun.
struct Intent {
  enum class State : std::uint8_t { noted, written, stored };

  std::string call_id;
  State state = State::noted;
};

// What the next restart finds of an agent that this run cannot use: its code was not found, or its
// conversation is damaged. The agent is stopped; its record has what was in progress.
struct Unusable {
  std::optional<turn::StoredTurn> turn;
  std::vector<TaskRecord> tasks;
  bool is_open = true;  // its record: nothing but the missing code or the damage has stopped it
};

struct StoredAgent {
  std::uint64_t key = 0;
  const AgentSpec* spec = nullptr;  // the one that SpecTable has for it; null: nothing is stored yet
  std::uint64_t spec_number = 0;
  std::vector<Piece> history;
  std::vector<StoredMail> mail;
  bool counts_mail = false;             // StoredMail::counts of some of it
  std::uint64_t acknowledged_turn = 0;  // the last one whose message was acknowledged
  std::vector<Intent> intents;
  bool lost_intent = false;  // there was no memory for one, or to go on: its turn asks again after a commit
  bool has_context = false;
  bool has_grants = false;
  bool is_loaded = true;           // false: its conversation was not read yet, and is as it is in the store
  std::unique_ptr<Unread> unread;  // null: its conversation was read, or there is nothing else
  std::unique_ptr<Unusable> unusable;  // until it is resumed, or stopped by a call
  bool held_by_restart = false;        // its mailbox, since the restore
  bool is_open_in_store = true;        // its record has neither a stop nor a deferred one
  bool is_deleted_in_store = false;    // its record has a delete, or a deferred one
  // What is to be written.
  bool is_noted = false;  // it is in the list of changed agents
  bool mail_changed = false;
  bool mail_edited = false;  // or reordered: write all of it
  bool grants_changed = false;
  bool all_changed = false;  // a batch could not be made: write everything

  // It is stopped or open like any other, and its messages are gone.
  void forget_unusable() noexcept {
    if (!std::exchange(unusable, nullptr)) return;
    mail_changed = mail_edited = true;
  }
};

// All @loop_thread.
class StoredAgents {
 public:
  // The key of the next agent: keys rise in the order of creation, so that those of parents are smaller than
  // those of their children.
  std::uint64_t next_key() const noexcept { return next_key_; }
  void begin_at(std::uint64_t key) noexcept { next_key_ = key; }

  // Null: there is none. Valid until that agent is removed.
  StoredAgent* find(core::NodeId id) noexcept;
  const StoredAgent* find(core::NodeId id) const noexcept;
  // A new agent. Throws std::bad_alloc.
  StoredAgent& add(core::NodeId id);
  // One that the store had before. Throws std::bad_alloc.
  StoredAgent& adopt(core::NodeId id) { return agents_[id]; }
  void remove(core::NodeId id) noexcept { agents_.erase(id); }
  // Calls visit(id) for each agent with tool calls that wait for the store, or have begun. No agent may be
  // added or removed meanwhile.
  template <typename Visit>
  void for_each_with_intents(Visit&& visit) const {
    for (const auto& [id, agent] : agents_)
      if (!agent.intents.empty() || agent.lost_intent) visit(id);
  }
  // The intents of the agent that were written, and the begins of its messages, are in the store.
  void set_stored(core::NodeId id) noexcept;

  // The agent has changed. Without memory, all have: see lost_any().
  void note(core::NodeId id, StoredAgent& agent) noexcept;
  // It is not known which agents have changed.
  void note_unknown() noexcept { lost_any_ = true; }
  bool lost_any() const noexcept { return lost_any_; }

  // Calls write(id) for each agent that has changed. If that throws, it stays changed.
  template <typename Write>
  void write_changed(Write&& write) {
    if (lost_any_) note_each();
    std::reverse(changed_.begin(), changed_.end());  // the first that changed comes first
    while (!changed_.empty()) {
      const core::NodeId id = changed_.back();
      write(id);
      changed_.pop_back();
      if (StoredAgent* const agent = find(id)) agent->is_noted = false;
    }
  }

 private:
  void note_each();

  std::unordered_map<core::NodeId, StoredAgent> agents_;
  std::vector<core::NodeId> changed_;
  bool lost_any_ = false;
  std::uint64_t next_key_ = 1;
};

}  // namespace agentcore::detail::persist
