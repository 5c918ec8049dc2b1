#include "sim/message_rules.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::sim {

void MessageRules::accepted(MessageId id, const std::string& agent, bool watched, bool steered) {
  verdict_.require(bool(id), "G12", "an accepted message without an id: " + agent);
  Known& known = known_[id];  // its first event may have come before its sender heard of it
  verdict_.require(known.agent.empty() || known.agent == agent, "G12",
                   "an id that another message has: " + to_string(id));
  known.agent = agent;
  known.watched = watched;
  known.is_sent = !steered;
}

void MessageRules::end(MessageId id, const std::string& what) {
  Known& known = known_[id];
  verdict_.require(++known.ends == 1, "G10", "a second end of message " + to_string(id) + ": " + what);
}

void MessageRules::called_back(const MessageEnd& end) {
  Known& known = known_[end.message];
  verdict_.require(++known.calls == 1, "G10", "on_end twice for message " + to_string(end.message));
  verdict_.require(known.ends == 1, "G10", "on_end before the end of message " + to_string(end.message));
  verdict_.require((end.result == nullptr) == (end.dropped != DropReason::none), "G10",
                   "on_end says neither result nor reason, or both: message " + to_string(end.message));
}

void MessageRules::see(const Event& event) {
  if (const auto* started = event.get<TurnStarted>()) {
    Known& known = known_[started->message];
    verdict_.require(known.ends == 0, "G10",
                     "a turn of a message that has ended: " + to_string(started->message));
    verdict_.require(!known.begun, "G10", "two turns of message " + to_string(started->message));
    verdict_.require(!known.end_stored, "G14",
                     "a turn of a message whose end the store has: " + to_string(started->message));
    verdict_.require(known.agent.empty() || !held_.contains(known.agent), "G14",
                     "a turn of a message that is held: " + to_string(started->message));
    known.begun = true;
    // One that was not counted: in the run that has accepted the message.
    known.attempts += is_left_ ? 0 : 1;
    verdict_.require(
        known.attempts <= most_attempts_ + 1, "G14",
        "a message begins more often than RestoreOptions::max_attempts: " + to_string(started->message));
  }
  if (const auto* held = event.get<QueueHeld>()) {
    if (held->held)
      held_.insert(event.agent().id());
    else
      held_.erase(event.agent().id());
  }
  if (event.get<AgentCreated>() != nullptr) {
    const std::string id = event.agent().id();
    held_.erase(id);
    for (auto& [message, known] : known_)  // of an agent of an earlier process, which is gone
      known.may_be_gone = known.may_be_gone || (known.agent == id && !known.is_sent);
  }
  if (const auto* ended = event.get<TurnEnded>()) end(ended->message, "the end of a turn");
  if (const auto* dropped = event.get<MessageDropped>()) end(dropped->id, "dropped");
  if (const auto* steered = event.get<Steered>()) {
    if (steered->fate != SteerFate::queued) end(steered->id, std::string(to_string(steered->fate)));
  }
  if (const auto* restored = event.get<AgentRestored>()) {
    if (restored->held_by_restart) held_.insert(event.agent().id());
    verdict_.require(restored->fate != RestoredTurn::continues || restored->attempt <= most_attempts_, "G14",
                     "a turn goes on more often than RestoreOptions::max_attempts: " + event.agent().id());
    if (restored->message) {
      if (restored->fate == RestoredTurn::continues) known_[restored->message].begun = true;
      if (restored->fate == RestoredTurn::interrupted && restored->turn != 0)
        end(restored->message, "interrupted by the restart");
    }
  }
  if (const auto* stored = event.get<MessagePersisted>()) {
    Known& known = known_[stored->message];
    known.stored = true;
    known.end_stored = known.end_stored || stored->ended;
  }
}

void MessageRules::removed(MessageId id) {
  Known& known = known_[id];
  verdict_.require(!known.begun, "G12", "a message was removed whose turn had begun: " + to_string(id));
  known.dropping = true;
}

void MessageRules::flush_begins() {
  for (auto& [id, known] : known_) {
    known.in_flush = !known.agent.empty() && (!known.goes_back || known.ends != 0 || known.begun);
    known.end_in_flush = known.in_flush && known.ends != 0;
  }
}

void MessageRules::flushed() {
  for (auto& [id, known] : known_) {
    known.stored = known.stored || known.in_flush;
    known.end_stored = known.end_stored || known.end_in_flush;
  }
}

void MessageRules::may_drop(const std::string& agent) {
  for (auto& [id, known] : known_)
    if (known.agent == agent) known.dropping = true;
}

void MessageRules::restore_was_cut() {
  for (auto& [id, known] : known_) known.may_be_gone = true;
}

void MessageRules::ends_are_unheard() {
  for (auto& [id, known] : known_) known.may_be_gone = known.may_be_gone || known.begun;
}

void MessageRules::tree_ended() {
  is_left_ = false;
  held_.clear();
  for (auto at = known_.begin(); at != known_.end();) {
    Known& known = at->second;
    if (!known.stored && !known.end_stored) {
      at = known_.erase(at);
      continue;
    }
    known.watched = known.begun = known.is_sent = false;
    known.calls = 0;
    // What the store has not heard of may happen again.
    known.may_be_gone = known.may_be_gone || known.dropping || known.ends != 0;
    if (!known.end_stored) known.ends = 0;
    ++at;
  }
}

void MessageRules::check_views(const AgentTree& tree) const {
  using Stage = MessageInfo::Stage;
  for (const auto& [id, known] : known_) {
    if (!known.is_sent || known.agent.empty()) continue;
    const auto agent = tree.find(known.agent);
    if (!agent) continue;
    const AgentStatus status = agent.value().status().value();
    if (!can_process(status.state) || status.stop_pending) continue;
    const Stage stage = tree.message(id).stage;
    const std::string which = "message " + to_string(id) + " of " + known.agent;
    if (known.ends != 0)
      verdict_.require(stage == Stage::ended || stage == Stage::unknown, "views",
                       which + " has ended, and message() does not say so");
    else if (known.begun)
      verdict_.require(stage == Stage::running, "views", which + " runs, and message() does not say so");
    else
      verdict_.require(stage == Stage::queued, "views", which + " waits, and message() does not say so");
  }
}

std::vector<MessageId> MessageRules::acknowledged() const {
  std::vector<MessageId> found;
  for (const auto& [id, known] : known_)
    if (known.stored && known.ends == 0 && !known.may_be_gone && !known.dropping && !known.agent.empty())
      found.push_back(id);
  return found;
}

MessageId MessageRules::open_of(const std::string& agent) const {
  for (const auto& [id, known] : known_)
    if (known.agent == agent && is_open(known)) return id;
  return {};
}

std::size_t MessageRules::open_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(known_, [](const auto& entry) { return is_open(entry.second); }));
}

void MessageRules::check_all_ended() {
  for (const auto& [id, known] : known_) {
    if (known.agent.empty() || known.end_stored || (known.may_be_gone && known.ends == 0)) continue;
    verdict_.require(known.ends == 1, "G12",
                     "message " + to_string(id) + " of " + known.agent + " has no end");
    verdict_.require(!known.watched || known.calls == 1, "G10",
                     "no on_end for message " + to_string(id) + " of " + known.agent);
  }
}

}  // namespace agentcore::sim
