// MessageRules: each accepted message has one end (G10, G12).
#pragma once

#include "sim/verdict.hpp"

#include <agentcore/agent_tree.hpp>
#include <agentcore/event.hpp>
#include <agentcore/message.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace agentcore::sim {

class MessageRules {
 public:
  explicit MessageRules(Verdict& verdict) : verdict_(verdict) {}

  // send(), simulate(), regenerate() or steer() has accepted it. `watched`: SendOptions::on_end was given.
  void accepted(MessageId id, const std::string& agent, bool watched, bool steered = false);
  void called_back(const MessageEnd& end);
  void see(const Event& event);
  // An answer has said that the store has it.
  void stored(MessageId id) { known_[id].stored = true; }
  // A person or a program has removed it while it waited.
  void removed(MessageId id);
  // A flush begins, and has succeeded: the store has what was accepted before it, and each end.
  void flush_begins();
  void flushed();
  // A steered message that its agent gives back rather than queues: it is in no store.
  void goes_back(MessageId id) { known_[id].goes_back = true; }
  // A verb drops what waits for that agent, if anything does. The events may come later.
  void may_drop(const std::string& agent);
  // A callback has ended a restore: some messages were not reported.
  void restore_was_cut();
  // Nothing is due: what a verb has dropped was reported.
  void quiet() {
    for (auto& [id, known] : known_) known.dropping = false;
  }
  // No turn that begins from now on in this process is counted.
  void store_is_left() noexcept { is_left_ = true; }
  // RestoreOptions::max_attempts.
  void attempts_are(std::uint32_t most) { most_attempts_ = most; }
  // At such a time: AgentTree::message() agrees with the events.
  void check_views(const AgentTree& tree) const;
  // The tree ends within a callback: the ends of turns that were not delivered yet are in the store alone.
  void ends_are_unheard();
  // The tree has ended: no callback follows, and what waits is known by the store alone.
  void tree_ended();
  // At the end of a run: all have ended.
  void check_all_ended();

  // One that was sent to that agent and has not ended; none: no id.
  MessageId open_of(const std::string& agent) const;
  std::size_t open_count() const;
  // Those that the store is known to have, and that have not ended.
  std::vector<MessageId> acknowledged() const;
  std::string agent_of(MessageId id) const { return known_.at(id).agent; }
  // Its agent was deleted with it, and the process ended before an event could say so.
  void lost_with_agent(MessageId id) { known_.erase(id); }

 private:
  struct Known {
    std::string agent;
    bool watched = false;        // on_end is to be called
    bool begun = false;          // in this run
    bool is_sent = false;        // in this run, and not steered
    std::uint32_t attempts = 0;  // TurnStarted, in all runs
    std::size_t ends = 0;        // in this run
    std::size_t calls = 0;       // of on_end
    bool stored = false;         // MessagePersisted
    bool end_stored = false;
    bool dropping = false;  // by a verb
    bool in_flush = false, end_in_flush = false;
    bool goes_back = false;    // SteerFallback::give_back
    bool may_be_gone = false;  // it had ended; the store may have heard of that, or not
  };
  void end(MessageId id, const std::string& what);
  static bool is_open(const Known& known) noexcept {
    return !known.agent.empty() && known.ends == 0 && !known.end_stored && !known.may_be_gone;
  }

  Verdict& verdict_;
  bool is_left_ = false;
  std::uint32_t most_attempts_ = 0;
  std::map<MessageId, Known> known_;
  std::set<std::string> held_;  // agents whose mailbox is held, as events say
};

}  // namespace agentcore::sim
