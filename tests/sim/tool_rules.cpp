#include "sim/tool_rules.hpp"

#include <algorithm>

namespace agentcore::sim {
namespace {

// Those of the library note nothing.
bool is_simulated(const std::string& tool) {
  return tool != "delegate" && tool != "ask_human";
}

// ProcessRules ask about programs.
bool notes_its_end(const std::string& tool) {
  return tool == "never" || tool == "safe" || tool == "careful" || tool == "task" || tool == "finish" ||
         tool == "blocking";
}

bool has_result(const Agent& agent, const std::string& call_id) {
  const auto history = agent.conversation();
  return history && std::ranges::find(history.value(), call_id, &ChatMessage::tool_call_id) != history->end();
}

}  // namespace

// The library makes the ids of calls in the text protocol. One that was made in a process that ended before
// the store had it may come again, for another call.
void ToolRules::begun(const ToolContext& context, bool may_repeat) {
  const std::string agent = context.agent().id(), made = context.idempotency_key();
  const std::string id = call_key(agent, context.call_id());
  Note& note = notes_[id];
  if (note.begun != 0 && note.made != made && context.call_id().starts_with("call_")) {
    Note another;
    another.tool = note.tool;
    note = another;
  }
  verdict_.require(note.begun == 0 || note.made == made, "G14",
                   "a call that is made again has another idempotency key: " + id);
  verdict_.require(made_.emplace(made, id).first->second == id, "G14",
                   "two calls have one idempotency key: " + id);
  note.agent = agent;
  note.call_id = context.call_id();
  note.made = made;
  note.is_simulated = simulated_.contains(messages_[agent]);
  note.is_unstored = is_left_ && note.begun == 0;
  note.may_repeat = may_repeat || note.is_unstored;
  note.begun_here = true;
  note.gave = 0;
  note.result = false;
  ++note.begun;
  verdict_.require(may_repeat || note.begun == 1, "G14", "a tool began twice for the call " + id);
  verdict_.require(!note.ended, "G9", "a tool began after the end of its call " + id);
  verdict_.require(!note.cancelled && !note.given, "G9",
                   "a tool began after a verb had ended its call " + id);
  verdict_.require(!note.stored, "G14", "a tool began again, and the store has the result of its call " + id);
}

void ToolRules::gave(const std::string& agent, const ToolContext& context, bool result) {
  Note& note = notes_[call_key(agent, context.call_id())];
  if (note.made != context.idempotency_key()) return;  // an earlier agent of that id had that call
  if (++note.gave == 1) note.result = result;          // the first end counts
}

void ToolRules::ended_by_verb(const std::string& agent, const std::string& call_id, bool with_result) {
  const std::string id = call_key(agent, call_id);
  Note& note = notes_[id];
  verdict_.require(!note.cancelled && !note.given, "G10", "two verbs have ended the call " + id);
  verdict_.require(with_result || !note.completed, "G10",
                   "a verb has cancelled a call that had completed: " + id);
  (with_result ? note.given : note.cancelled) = true;
}

// Of an earlier agent of that id, whose ids the library made.
void ToolRules::forget(const std::string& agent) {
  const std::string begin = call_key(agent, "call_");
  for (auto* const notes : {&notes_, &before_})
    notes->erase(notes->lower_bound(begin), notes->lower_bound(call_key(agent, "call`")));
}

// An id of the library may have been that of another call, in a process that ended before the store had it.
bool ToolRules::has_begun(const Note& note) {
  return note.begun != 0 && (note.begun_here || !note.call_id.starts_with("call_"));
}

void ToolRules::check_restored(const AgentTree& tree) {
  for (const auto& [id, note] : before_) {
    // A background task that has just begun is known by its call.
    if (!note.open || note.is_simulated || reported_.contains(id) || id.starts_with("task_")) continue;
    const auto agent = tree.find(note.agent);
    if (!agent) continue;
    if (!agent.value().conversation()) continue;
    verdict_.require(has_result(agent.value(), note.call_id), "G14",
                     "a call that had begun is not reported as of unknown effect: " + id);
  }
}

void ToolRules::flush_begins() {
  for (auto& [id, note] : notes_) note.in_flush = note.completed;
}

void ToolRules::flushed() {
  for (auto& [id, note] : notes_) note.stored = note.stored || note.in_flush;
}

void ToolRules::see(const Event& event) {
  const std::string agent = event.agent().id();
  if (event.get<AgentCreated>() != nullptr) {
    forget(agent);
    // The restart has deleted an earlier agent of that id.
    for (auto& [id, note] : before_)
      if (note.agent == agent) note.open = false;
  }
  if (const auto* started = event.get<TurnStarted>()) messages_[agent] = started->message;
  if (const auto* restored = event.get<AgentRestored>()) {
    for (const InterruptedCall& call : restored->interrupted_calls)
      reported_.insert(call_key(agent, call.call_id));
    // An observer of this event may drop the end of the history.
    for (const auto& [id, note] : before_)
      if (note.open && note.agent == agent && has_result(event.agent(), note.call_id)) reported_.insert(id);
  }
  if (const auto* started = event.get<ToolStarted>()) {
    Note& note = notes_[call_key(agent, started->call_id)];
    // The library has made this id before, in a process whose call the store does not have.
    const bool is_another = !note.tool.empty() && note.tool != started->tool && !note.begun_here &&
                            !note.stored && started->call_id.starts_with("call_");
    if (is_another) note = Note();
    note.tool = started->tool;
  }
  if (const auto* task = event.get<TaskChanged>(); task != nullptr && task->state != TaskState::started)
    notes_[task->task_id].ended = true;
  if (const auto* ended = event.get<ToolEnded>()) {
    const std::string id = call_key(agent, ended->call_id);
    Note& note = notes_[id];
    note.ended = true;
    note.completed = ended->outcome == ToolOutcome::completed;
    verdict_.require(!note.cancelled || !note.completed, "G10",
                     "a result has ended a call that was cancelled: " + id);
    verdict_.require(!note.given || !note.completed || ended->by_host, "G10",
                     "a result of the tool counts after that of the host: " + id);
    const bool gave = note.gave != 0 || (note.tool == "blocking" && note.begun != 0);
    verdict_.require(!note.completed || ended->by_host || gave || !notes_its_end(note.tool), "G9",
                     "a call has completed, and its tool has given nothing: " + id);
    if (note.completed && !ended->by_host) is_of(id, ended->result.message);
    if (ended->outcome == ToolOutcome::not_started)
      verdict_.require(!has_begun(note), "G9", "a call that began is not_started: " + id);
  }
  if (const auto* turn = event.get<TurnEnded>())
    for (const ToolCallRecord& record : turn->result->calls) check(record, turn->agent);
}

void ToolRules::is_of(const std::string& key, const std::string& text) {
  const auto note = notes_.find(key);
  if (note == notes_.end() || !note->second.result) return;
  if (text.starts_with("the tool's result was lost")) return;  // no memory for it
  // It may be cut.
  const std::string head = text.substr(0, text.find('\n'));
  const bool is_cut = head.size() >= 12 && key.starts_with(head);
  verdict_.require(is_cut || text.starts_with(key + ':'), "G9",
                   "the result of " + key + " is that of another: " + text);
}

void ToolRules::check(const ToolCallRecord& record, const Agent& agent) {
  const std::string id = call_key(agent.id(), record.call_id);
  const auto found = notes_.find(id);
  const Note note = found == notes_.end() ? Note() : found->second;
  const std::string call = record.call_id + " of " + record.tool + " in " + agent.id();
  verdict_.require(!note.stored || record.outcome == ToolOutcome::completed, "G14",
                   "a result that the store has is lost: " + call);
  if (record.outcome == ToolOutcome::completed && !record.by_host) is_of(id, record.message);
  if (record.outcome == ToolOutcome::not_started)
    verdict_.require(!has_begun(note), "G9", "the result says not_started, and the tool began: " + call);
  if (record.outcome == ToolOutcome::interrupted && is_simulated(record.tool) && !before_.contains(id) &&
      (before_.empty() || !record.call_id.starts_with("call_")))
    verdict_.require(note.begun != 0, "G9", "the result says interrupted, and the tool never began: " + call);
}

}  // namespace agentcore::sim
