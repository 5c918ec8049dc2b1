#include "sim/process_rules.hpp"

#include <algorithm>
#include <utility>

namespace agentcore::sim {
namespace {

std::string name_of(const Program& program) {
  return "program " + std::to_string(program.number);
}

std::string data_of(const ExitStatus& status) {
  return (status.kind == ExitStatus::Kind::exited ? "{\"exit_code\":" : "{\"signal\":") +
         std::to_string(status.number) + '}';
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

void ProcessRules::begins(ProgramCall call) {
  starting_.push_back(call.id);
  call.begun_at = clock_.now();
  // A deleted agent had the same id: its program may still run.
  if (auto earlier = calls_.extract(call.id)) {
    earlier.key() += " of agent " + std::to_string(calls_.size());
    calls_.insert(std::move(earlier));
  }
  calls_[call.id] = std::move(call);
}

void ProcessRules::on_start(const std::shared_ptr<Program>& program) {
  if (starting_.empty()) return verdict_.fail("G1", name_of(*program) + " starts for no call");
  ProgramCall& call = calls_[starting_.back()];
  verdict_.require(!call.program, "G14", "two programs start for the call " + call.id);
  call.program = program;
  verdict_.require(!call.stop.stop_requested(), "G1", "a program starts for a stopped call of " + call.agent);
  verdict_.require(!gates_.is_stopped(call.agent), "G1",
                   "a program starts for a stopped agent: " + call.agent);
  verdict_.require(call.turn == 0 || !gates_.is_cut(call.agent, call.turn), "G1",
                   "a program starts in a turn that was ended: " + call.agent);
}

void ProcessRules::on_refused_start(const std::string& why) {
  if (!starting_.empty()) calls_[starting_.back()].refusal = why;
}

const ProgramCall* ProcessRules::call_of(const Program& program) const {
  for (const auto& [id, call] : calls_)
    if (call.program.get() == &program) return &call;
  return nullptr;
}

std::string ProcessRules::agent_of(const Program& program) const {
  const ProgramCall* const call = call_of(program);
  return call != nullptr ? call->agent : std::string();
}

std::vector<std::shared_ptr<Program>> ProcessRules::running() const {
  std::vector<std::shared_ptr<Program>> all;
  for (const auto& [id, call] : calls_)
    if (runs(call)) all.push_back(call.program);
  return all;
}

// A program that has ended holds its number until it is reaped: its group is killed meanwhile.
void ProcessRules::on_signal(const Program& program, Signal signal) {
  const ProgramCall* const call = call_of(program);
  if (call == nullptr) return verdict_.fail("G13", name_of(program) + " of no call is signalled");
  const std::string what = name_of(program) + " of " + call->agent;
  if (signal == Signal::terminate)
    return verdict_.require(call->stop.stop_requested(), "process", "SIGTERM for " + what + ", not stopped");
  const bool is_started = starting_.empty() || starting_.back() != call->id;
  if (program.status || runtime_ends_ || !is_started) return;
  verdict_.require(program.terminated_at && clock_.now() - *program.terminated_at >= call->kill_grace,
                   "process", "SIGKILL before the end of its grace period for " + what);
}

void ProcessRules::on_reaped(const Program& program, std::size_t left) {
  verdict_.require(left == 0, "G13", "a process of the group of " + name_of(program) + " outlives it");
}

void ProcessRules::ended_by_verb(const std::string& id) {
  const auto found = calls_.find(id);
  if (found != calls_.end() && runs(found->second))
    verdict_.require(found->second.program->terminated_at.has_value(), "G5",
                     "a verb has ended the call " + id + ", and its program has no SIGTERM");
}

void ProcessRules::process_ended() {
  calls_.clear();
  starting_.clear();
  runtime_ends_ = false;
}

void ProcessRules::check_stopped(bool cut) const {
  for (const auto& [id, call] : calls_) {
    if (!runs(call) || call.program->terminated_at) continue;
    const std::string what = name_of(*call.program) + " has no SIGTERM, and ";
    verdict_.require(!call.stop.stop_requested(), "G5", what + "its call was stopped: " + id);
    if (!cut) continue;
    verdict_.require(!gates_.is_stopped(call.agent), "G5", what + "its agent was stopped: " + call.agent);
    verdict_.require(call.turn == 0 || !gates_.is_cut(call.agent, call.turn), "G5",
                     what + "its turn was ended: " + call.agent);
  }
}

void ProcessRules::check_quiet(const SimProcesses& processes) const {
  for (const auto& [id, call] : calls_) {
    if (!call.program || call.program->reaped || call.program->lost) continue;
    const Program& program = *call.program;
    const bool is_late = program.terminated_at && clock_.now() - *program.terminated_at >= call.kill_grace;
    verdict_.require(program.status || !is_late || program.killed_at, "G5",
                     "no SIGKILL after the grace period for " + name_of(program));
  }
  verdict_.require(processes.forgotten_descriptors() == 0, "G13",
                   "a descriptor of a program is open after its end");
}

void ProcessRules::see(const Event& event) {
  if (const auto* ended = event.get<ToolEnded>()) {
    const auto found = calls_.find(call_key(event.agent().id(), ended->call_id));
    if (found == calls_.end()) return;
    const ProgramCall& call = found->second;
    if (ended->outcome == ToolOutcome::completed && !ended->by_host) check_result(call, ended->result);
    if (ended->outcome == ToolOutcome::interrupted && holds(ended->result.message, "timed out"))
      verdict_.require(!call.program || !call.program->ended_unstopped || call.program->was_unclear ||
                           call.program->lost || call.program->ended_at >= call.begun_at + call.timeout,
                       "G9", "a time-out ends the call " + call.id + ", whose program has ended before it");
  }
  if (const auto* changed = event.get<TaskChanged>()) {
    const auto found = calls_.find(changed->task_id);
    if (found == calls_.end()) return;
    // A time-out is reported before its program has ended.
    const bool has_failed = changed->state == TaskState::failed && !found->second.stop.stop_requested();
    if (changed->state == TaskState::completed || has_failed) check_result(found->second, changed->result);
  }
}

// The result has what was written to one stream before the end of the program, or its beginning and the size
// of the rest. What a process that has left the group writes later may be missing. A result of success has
// the output alone.
bool ProcessRules::says_output(const ProgramCall& call, const ToolResult& result, std::size_t stream) const {
  if (!call.has_room) return true;
  const std::string& written = call.program->written[stream];
  const auto says = [&](std::size_t size, std::size_t dropped) {
    const std::string rest =
        dropped == 0 ? "" : "\n[" + std::to_string(dropped) + " bytes more were dropped]";
    const std::string text = written.substr(0, size) + rest;
    return result.success ? result.message == text : holds(result.message, text);
  };
  for (std::size_t read = call.program->at_end[stream]; read <= written.size(); ++read) {
    const std::size_t most = std::min(call.max_output, read);
    for (std::size_t size = memory_was_short_ ? 0 : most; size <= most; ++size)
      if (says(size, read - size)) return true;
  }
  return false;
}

void ProcessRules::check_result(const ProgramCall& call, const ToolResult& result) const {
  const std::string what = "the result of " + call.id + " says \"" + result.message + "\", and ";
  const auto says = [&](const std::string& text) { return !call.has_room || holds(result.message, text); };
  if (!call.program)
    return verdict_.require(!result.success && says(call.refusal), "G9",
                            what + "no program was started: " + call.refusal);
  const Program& program = *call.program;
  if (!program.reaped && !program.lost)
    return verdict_.fail("G13", what + name_of(program) + " is not reaped");
  const bool had_no_memory = holds(result.message, "bad_alloc") || holds(result.message, "out of memory");
  if (program.unwatched || (memory_was_short_ && had_no_memory))
    return verdict_.require(!result.success, "G9", what + "its start had failed");
  if (program.lost) return verdict_.require(!result.success, "G9", what + "the exit status was lost");
  const ExitStatus status = *program.status;
  const bool is_well = status.kind == ExitStatus::Kind::exited && status.number == 0;
  verdict_.require(result.success == (is_well && !call.stop.stop_requested()), "G9",
                   what + name_of(program) + " has " + data_of(status));
  verdict_.require(result.data == data_of(status), "G9",
                   what + "data " + result.data + ", not " + data_of(status));
  for (std::size_t stream = 0; stream < (result.success ? 1U : 2U); ++stream)
    verdict_.require(says_output(call, result, stream), "G9",
                     what + "it wrote \"" + call.program->written[stream] + '"');
}

}  // namespace agentcore::sim
