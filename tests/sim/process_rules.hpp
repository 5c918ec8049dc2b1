// ProcessRules: when the library starts, signals and reaps programs, and what it says of them (G1, G5, G9,
// G13). Written from subprocess.hpp and docs/guarantees.md, not from the code.
#pragma once

#include "sim/call_key.hpp"
#include "sim/gate_rules.hpp"
#include "sim/sim_processes.hpp"
#include "sim/verdict.hpp"

#include <agentcore/clock.hpp>
#include <agentcore/event.hpp>
#include <agentcore/llm_client.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace agentcore::sim {

// A call of a tool that runs a program.
struct ProgramCall {
  std::string id;  // call_key()
  std::string agent;
  std::uint64_t turn = 0;  // 0: a background task, which outlives its turn
  StopToken stop = {};
  Duration timeout{}, kill_grace{};
  std::size_t max_output = 0;
  bool has_room = true;                   // for the whole text of the result
  std::shared_ptr<Program> program = {};  // null: none was started
  std::string refusal = {};               // why
  TimePoint begun_at = {};
};

class ProcessRules final : public ProgramWatcher {
 public:
  ProcessRules(Verdict& verdict, const GateRules& gates, const Clock& clock)
      : verdict_(verdict), gates_(gates), clock_(clock) {}

  // Around Tool::start, and in between what the system does for it.
  void begins(ProgramCall call);
  void start_returned() { starting_.pop_back(); }
  void on_start(const std::shared_ptr<Program>& program) override;
  void on_refused_start(const std::string& why) override;

  void on_signal(const Program& program, Signal signal) override;
  void on_reaped(const Program& program, std::size_t left) override;
  void on_misuse(const std::string& what) override { verdict_.fail("process", what); }

  void see(const Event& event);
  // A verb has ended the call; `id`: its call_key().
  void ended_by_verb(const std::string& id);
  // Memory was short: a result has less of what a program wrote, and says so.
  void memory_was_short() noexcept { memory_was_short_ = true; }
  void runtime_ends() noexcept { runtime_ends_ = true; }
  void process_ended();

  // At any time: whose call was stopped has SIGTERM. `cut`: so has each of a stopped agent and of a turn that
  // was ended.
  void check_stopped(bool cut) const;
  // Nothing is left to do now.
  void check_quiet(const SimProcesses& processes) const;
  // The agent of a program; empty: not known.
  std::string agent_of(const Program& program) const;
  std::vector<std::shared_ptr<Program>> running() const;

 private:
  static bool runs(const ProgramCall& call) {
    return call.program && !call.program->reaped && !call.program->lost && !call.program->status;
  }
  const ProgramCall* call_of(const Program& program) const;
  void check_result(const ProgramCall& call, const ToolResult& result) const;
  bool says_output(const ProgramCall& call, const ToolResult& result, std::size_t stream) const;

  Verdict& verdict_;
  const GateRules& gates_;
  const Clock& clock_;
  std::map<std::string, ProgramCall> calls_;  // by their keys
  std::vector<std::string> starting_;         // keys of calls whose Tool::start runs
  bool runtime_ends_ = false;
  bool memory_was_short_ = false;
};

}  // namespace agentcore::sim
