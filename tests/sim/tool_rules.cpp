#include "sim/tool_rules.hpp"

namespace agentcore::sim {
namespace {

// Those of the library note nothing.
bool is_simulated(const std::string& tool) {
  return tool != "delegate" && tool != "ask_human";
}

}  // namespace

void ToolRules::begun(const std::string& call_id, bool may_repeat) {
  Note& note = notes_[call_id];
  ++note.begun;
  verdict_.require(may_repeat || note.begun == 1, "G14", "a tool began twice for the call " + call_id);
  verdict_.require(!note.ended, "G9", "a tool began after the end of its call " + call_id);
}

void ToolRules::gave(const std::string& call_id) {
  ++notes_[call_id].gave;
}

void ToolRules::see(const Event& event) {
  if (const auto* ended = event.get<ToolEnded>()) {
    Note& note = notes_[ended->call_id];
    note.ended = true;
    if (ended->outcome == ToolOutcome::not_started)
      verdict_.require(note.begun == 0, "G9", "a call that began is not_started: " + ended->call_id);
  }
  if (const auto* turn = event.get<TurnEnded>())
    for (const ToolCallRecord& record : turn->result->calls) check(record, turn->agent);
}

void ToolRules::check(const ToolCallRecord& record, const Agent& agent) {
  const auto found = notes_.find(record.call_id);
  const Note note = found == notes_.end() ? Note() : found->second;
  const std::string call = record.call_id + " of " + record.tool + " in " + agent.id();
  if (record.outcome == ToolOutcome::not_started)
    verdict_.require(note.begun == 0, "G9", "the result says not_started, and the tool began: " + call);
  if (record.outcome == ToolOutcome::interrupted && is_simulated(record.tool) &&
      !before_.contains(record.call_id))
    verdict_.require(note.begun != 0, "G9", "the result says interrupted, and the tool never began: " + call);
}

}  // namespace agentcore::sim
