// AgentRecord: what a store keeps of an agent beside its spec, its messages and its conversation.
#pragma once

#include "core/internal_api.hpp"
#include "core/node.hpp"
#include "loop/engine.hpp"
#include "turn/account.hpp"
#include "turn/stored_turn.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/message.hpp>
#include <agentcore/verbs.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::persist {

// A part of a conversation: `count` records of a segment.
struct Piece {
  std::uint64_t segment = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;

  std::uint64_t end() const noexcept { return first + count; }
  bool operator==(const Piece&) const = default;
};

// A background task that runs.
struct TaskRecord {
  std::string id;
  std::string tool;
};

// A budget and what was used of it.
struct AccountRecord {
  Budget budget;  // wall_clock: what is left of it
  Spent spent;
  bool expired = false;
};

struct AgentRecord {
  core::NodeId node = 0;     // slot and generation: the generated id
  std::string name;          // the chosen id; empty: the generated one
  std::uint64_t parent = 0;  // its key; 0: the agent is a root
  std::uint64_t spec = 0;    // its number

  core::Gate gate = core::Gate::open;
  core::Grade grade = core::Grade::none;        // of a deferred stop
  core::Grade grade_below = core::Grade::none;  // for the descendants
  bool grade_deletes = false;
  bool deletes_forks = false;  // Node::deletes_forks
  bool stopped_by_ancestor = false;
  bool stays_stopped = false;  // Node::stays_stopped
  bool unsettled = false;      // its stop had not settled
  StopCause cause = StopCause::user;
  bool paused = false;
  bool held = false;
  bool held_by_restart = false;  // and not by a verb
  bool holds_below = false;

  std::uint64_t turns = 0;           // begun so far
  std::uint64_t tool_turns = 0;      // TurnData::tool_turns
  std::uint64_t summary_tokens = 0;  // TurnData::summary_tokens
  std::string ended_tasks;           // TurnData::ended_tasks
  std::optional<turn::StoredTurn> turn;
  std::vector<TaskRecord> tasks;
  std::vector<std::string> tool_children;  // TurnData::tool_children
  core::NodeId origin = 0;                 // TurnData::origin
  bool of_call = false;                    // TurnData::of_call
  bool of_task = false;                    // Node::of_task
  std::vector<Piece> history;
  bool has_context = false;  // there is a record of Kind::context
  bool has_grants = false;   // there are records of Kind::grant
  std::optional<AccountRecord> own;
  std::optional<AccountRecord> subtree;
};

// What is left of a budget, and what was used. @loop_thread
AccountRecord account_record(const turn::Account& account, const loop::Engine& engine);

// Fields with their default value are left out.
AGENTCORE_INTERNAL_API std::string to_json(const AgentRecord& record);
// Throws nlohmann::json::exception.
AGENTCORE_INTERNAL_API AgentRecord read_agent(std::string_view text);

}  // namespace agentcore::detail::persist
