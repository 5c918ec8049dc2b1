#include "sim/tool_rules.hpp"

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

}  // namespace

void ToolRules::begun(const std::string& call_id, bool may_repeat, const std::string& agent) {
  Note& note = notes_[call_id];
  note.agent = agent;
  note.may_repeat = may_repeat;
  note.begun_here = true;
  note.gave = 0;
  note.result = false;
  ++note.begun;
  verdict_.require(may_repeat || note.begun == 1, "G14", "a tool began twice for the call " + call_id);
  verdict_.require(!note.ended, "G9", "a tool began after the end of its call " + call_id);
  verdict_.require(!note.cancelled && !note.given, "G9",
                   "a tool began after a verb had ended its call " + call_id);
  verdict_.require(!note.stored, "G14",
                   "a tool began again, and the store has the result of its call " + call_id);
}

void ToolRules::gave(const std::string& call_id, bool result) {
  Note& note = notes_[call_id];
  if (++note.gave == 1) note.result = result;  // the first end counts
}

void ToolRules::ended_by_verb(const std::string& call_id, bool with_result) {
  Note& note = notes_[call_id];
  verdict_.require(!note.cancelled && !note.given, "G10", "two verbs have ended the call " + call_id);
  (with_result ? note.given : note.cancelled) = true;
}

void ToolRules::check_restored(const AgentTree& tree) {
  for (const auto& [id, note] : before_) {
    // Ids that the text protocol makes are those of each turn. A background task that has just begun is known
    // by its call.
    if (!note.open || unknown_.contains(id) || id.starts_with("call_") || id.starts_with("task_")) continue;
    const auto agent = tree.find(note.agent);
    if (!agent) continue;
    const auto history = agent.value().conversation();
    if (!history) continue;
    bool has_result = false;
    for (const ChatMessage& message : history.value()) has_result = has_result || message.tool_call_id == id;
    verdict_.require(has_result, "G14", "a call that had begun is not reported as of unknown effect: " + id);
  }
}

void ToolRules::flush_begins() {
  for (auto& [id, note] : notes_) note.in_flush = note.completed;
}

void ToolRules::flushed() {
  for (auto& [id, note] : notes_) note.stored = note.stored || note.in_flush;
}

void ToolRules::see(const Event& event) {
  if (const auto* restored = event.get<AgentRestored>())
    for (const InterruptedCall& call : restored->interrupted_calls) unknown_.insert(call.call_id);
  if (const auto* started = event.get<ToolStarted>()) notes_[started->call_id].tool = started->tool;
  if (const auto* task = event.get<TaskChanged>(); task != nullptr && task->state != TaskState::started)
    notes_[task->task_id].ended = true;
  if (const auto* ended = event.get<ToolEnded>()) {
    Note& note = notes_[ended->call_id];
    note.ended = true;
    note.completed = ended->outcome == ToolOutcome::completed;
    verdict_.require(!note.cancelled || !note.completed, "G10",
                     "a result has ended a call that was cancelled: " + ended->call_id);
    verdict_.require(!note.given || !note.completed || ended->by_host, "G10",
                     "a result of the tool counts after that of the host: " + ended->call_id);
    const bool gave = note.gave != 0 || (note.tool == "blocking" && note.begun != 0);
    verdict_.require(!note.completed || ended->by_host || gave || !notes_its_end(note.tool), "G9",
                     "a call has completed, and its tool has given nothing: " + ended->call_id);
    if (note.completed && !ended->by_host) is_of(ended->call_id, ended->result.message);
    if (ended->outcome == ToolOutcome::not_started)
      verdict_.require(note.begun == 0, "G9", "a call that began is not_started: " + ended->call_id);
  }
  if (const auto* turn = event.get<TurnEnded>())
    for (const ToolCallRecord& record : turn->result->calls) check(record, turn->agent);
}

void ToolRules::is_of(const std::string& call_id, const std::string& text) {
  const auto note = notes_.find(call_id);
  if (note == notes_.end() || !note->second.result) return;
  if (text.starts_with("the tool's result was lost")) return;  // no memory for it
  verdict_.require(text.starts_with(call_id + ':'), "G9",
                   "the result of " + call_id + " is that of another: " + text);
}

void ToolRules::check(const ToolCallRecord& record, const Agent& agent) {
  const auto found = notes_.find(record.call_id);
  const Note note = found == notes_.end() ? Note() : found->second;
  const std::string call = record.call_id + " of " + record.tool + " in " + agent.id();
  verdict_.require(!note.stored || record.outcome == ToolOutcome::completed, "G14",
                   "a result that the store has is lost: " + call);
  if (record.outcome == ToolOutcome::completed && !record.by_host) is_of(record.call_id, record.message);
  if (record.outcome == ToolOutcome::not_started)
    verdict_.require(note.begun == 0, "G9", "the result says not_started, and the tool began: " + call);
  if (record.outcome == ToolOutcome::interrupted && is_simulated(record.tool) &&
      !before_.contains(record.call_id))
    verdict_.require(note.begun != 0, "G9", "the result says interrupted, and the tool never began: " + call);
}

}  // namespace agentcore::sim
