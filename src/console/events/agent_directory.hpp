// AgentDirectory: what the console knows of each agent beside what the tree knows.
#pragma once

#include <agentcore/agent.hpp>
#include <agentcore/chat.hpp>
#include <agentcore/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace agentcore::detail::console {

// The place of an agent in its tree. It outlives the agent, for events that a viewer receives later.
struct AgentPath {
  std::uint64_t serial = 0;
  std::shared_ptr<const AgentPath> parent = {};  // null: a root agent

  // True if the agent, or an ancestor, has that serial.
  bool is_below(std::uint64_t root) const noexcept;
};

// The answer that streams now.
struct LiveAnswer {
  std::uint64_t turn = 0;  // 0: none
  std::uint32_t call = 0;
  std::string text = {};  // the end of it: see max_live_bytes
  std::string reasoning = {};
  bool truncated = false;          // the beginning of `text` is not kept
  std::size_t dropped = 0;         // how many bytes of it
  std::string new_text = {};       // not in an event yet
  std::string new_reasoning = {};  // not in an event yet
};

// Whether viewers want the text of an agent.
struct TextWanted {
  std::size_t viewers = 0;
  TimePoint until = TimePoint::min();  // also without a viewer, until then
};

inline constexpr std::size_t max_live_bytes = 16 << 10;

struct AgentEntry {
  Agent agent = {};
  std::string id = {};
  std::shared_ptr<const AgentPath> path = {};
  std::string parent_id = {};  // empty: a root agent
  std::uint32_t depth = 0;     // of a root agent: 0
  WallTime created = {};       // or when the console first saw it
  WallTime active = {};        // of the last event
  Usage usage = {};            // of all turns that ended since
  std::optional<double> cost = {};
  std::uint64_t turns = 0;
  std::size_t queue_length = 0;  // as the viewers know it
  // The same of its hold, and of a stop that is pending, which may be those of an ancestor.
  bool queue_held = false;
  std::optional<StopWhen> stop_pending = {};
  LiveAnswer live = {};
  bool has_gap = false;  // a piece of an answer of this turn is in no event, because no viewer wanted it
  std::shared_ptr<TextWanted> text_wanted = {};  // null: never wanted yet

  std::uint64_t serial() const noexcept { return path->serial; }
};

// The stop that is pending for an agent that is not stopped yet.
std::optional<StopWhen> pending_stop_of(const Agent& agent);
// False if the agent is gone.
bool is_queue_held(const Agent& agent);

// The agents of a tree, by id and in the order of their creation. An agent has a smaller serial than its
// descendants. @loop_thread
class AgentDirectory {
 public:
  // The entry of an agent; makes it, and those of its ancestors, if there is none. Null: the agent is gone.
  AgentEntry* enter(const Agent& agent, WallTime now);
  AgentEntry* find(const Agent& agent) noexcept;
  AgentEntry* find(std::string_view id) noexcept;
  void erase(const Agent& agent) noexcept;
  // Erases the agents that do not exist any more.
  void erase_gone() noexcept;
  void clear() noexcept;

  std::size_t size() const noexcept { return entries_.size(); }
  const std::map<std::uint64_t, AgentEntry>& entries() const noexcept { return entries_; }

 private:
  AgentEntry& add(const Agent& agent, std::string id, const AgentEntry* above, WallTime now);

  std::map<std::uint64_t, AgentEntry> entries_;  // by serial
  std::unordered_map<Agent, AgentEntry*> by_agent_;
  std::unordered_map<std::string_view, AgentEntry*> by_id_;  // views of AgentEntry::id
  std::uint64_t last_serial_ = 0;
  // The last one. Events that its AgentDeleted has caused may come while it still exists.
  Agent erased_;
};

}  // namespace agentcore::detail::console
