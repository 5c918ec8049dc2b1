// EventFeed: brings the events of a tree into the log of the console.
#pragma once

#include "console/events/agent_directory.hpp"
#include "console/events/event_log.hpp"
#include "console/events/json.hpp"
#include "loop/engine.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>
#include <agentcore/subscription.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_set>

namespace agentcore::detail::console {

// Keeps the directory and the answers that stream up to date. Pieces of an answer are merged for
// `merge_interval`, and are in the log only while a viewer wants them, or wanted them a minute ago, so that a
// viewer that connects again misses nothing; if pieces are missing after all, an event says so when the text
// is wanted again. A mailbox has no events of its own: its length is looked at after events of its agent, and
// after requests. All functions: @loop_thread
class EventFeed {
 public:
  // `on_change`: the log has more events.
  EventFeed(std::shared_ptr<loop::Engine> engine, std::shared_ptr<EventLog> log,
            std::function<void()> on_change);
  ~EventFeed();
  EventFeed(const EventFeed&) = delete;
  EventFeed& operator=(const EventFeed&) = delete;

  // Follows `tree` from now on, and knows its agents.
  void follow(AgentTree& tree);
  void leave();

  // Throws std::bad_alloc if events were lost and there is no memory to look for what they said.
  AgentDirectory& directory();
  // The text of this agent is in the log for the next minute.
  void want_text(AgentEntry& entry);
  // The same, and as long as the object exists that is returned.
  std::shared_ptr<const void> view_text(AgentEntry& entry);
  // Writes what was not written yet of the answers that stream.
  void flush_text();
  // The mailbox of this agent may have changed.
  void look_at_queue(const AgentEntry& entry) noexcept;
  // An answer is about to show the agent: what it says of the mailbox and of a stop that is pending is in the
  // log then.
  void show(const AgentEntry& entry) noexcept;
  // An event of no agent, or of an agent that is no event of the tree. Without memory for it the viewers load
  // everything again.
  void publish(const AgentEntry* entry, Json event);

 private:
  template <typename Function>
  void guarded(Function&& function) noexcept;
  void enter_all();
  void take(const Event& event);
  void update(AgentEntry& entry, const Event& event);
  Json json_of(const Event& event, const AgentEntry* entry) const;
  Json still_paused(const AgentEntry* above) const;
  Json pause_json(const AgentEntry& entry, const PauseChanged& event) const;
  void publish_tree_pause(const PauseChanged& event);
  bool is_wanted(const AgentEntry& entry) const;
  void add_text(AgentEntry& entry, std::uint64_t turn, std::uint32_t call, std::string_view text,
                bool is_reasoning);
  void flush_text(AgentEntry& entry);
  void append_text(AgentEntry& entry, std::string_view type, std::string& text);
  void publish_queue(AgentEntry& entry);
  void publish_queues();
  void publish_hold(AgentEntry& entry);
  void publish_pending_stop(AgentEntry& entry, const StopOrigin& origin);
  void look_below(const AgentEntry* above, const Event& event);
  void publish_below();
  void start_merge();

  const std::shared_ptr<loop::Engine> engine_;
  const std::shared_ptr<EventLog> log_;
  const std::function<void()> on_change_;
  AgentTree* tree_ = nullptr;   // null: none is followed
  bool is_incomplete_ = false;  // the directory is, because there was no memory for an event
  AgentDirectory directory_;
  std::unordered_set<std::uint64_t> unwritten_;  // serials of the agents with text that is not in the log
  std::unordered_set<std::uint64_t> queues_;     // of those whose mailbox may have changed
  // By serial of an agent whose hold or pending stop has changed, and that of all below it: who asked for the
  // stop. 0: all agents.
  std::map<std::uint64_t, std::optional<StopOrigin>> changed_above_;
  std::uint64_t merge_timer_ = 0;  // 0: none
  Subscription events_;
};

}  // namespace agentcore::detail::console
