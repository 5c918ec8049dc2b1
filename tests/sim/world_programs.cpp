// The programs of a World: tools that run one, and what their processes do.
#include "sim/world.hpp"
#include "sim/world_run.hpp"

#include <agentcore/subprocess.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <utility>

#include <nlohmann/json.hpp>

namespace agentcore::sim {

ProcessHabits World::process_habits() const {
  const std::uint32_t kind = setup_[Knob::programs], small = setup_[Knob::small_io];
  return {.dies_late = kind % 2 == 0, .has_pidfd = kind <= 2, .most_per_call = small > 1 ? small * 5 : 0};
}

void World::add_programs() {
  if (setup_[Knob::programs] == 0 || is_real()) return;
  add_program({.name = "program"}, std::chrono::seconds(2), std::size_t{64} << 10);
  add_program({.name = "hasty", .replay = ToolReplay::safe}, Duration(0), 20);
  add_program({.name = "service", .mode = ToolMode::async}, std::chrono::seconds(2), 150);
}

void World::add_program(ToolSpec spec, Duration kill_grace, std::size_t max_output) {
  SubprocessOptions options{.command = [this](const nlohmann::json&) { return next_command(); },
                            .max_output_bytes = max_output,
                            .kill_grace = kill_grace};
  const std::string name = spec.name;
  const bool may_repeat = spec.replay == ToolReplay::safe;
  Tool tool = make_subprocess_tool(std::move(spec), std::move(options));
  tool.start = [this, name, may_repeat, kill_grace, max_output, start = std::move(tool.start)](
                   const nlohmann::json& arguments, const ToolContext& context, ToolDone done) {
    {
      const test::HostCode host;
      note_tool(name, may_repeat, context);
      const std::string agent = context.agent().id(), key = call_key(agent, context.call_id());
      const bool is_task = context.call_id().starts_with("task_");
      process_rules_.begins({.id = key,
                             .agent = agent,
                             .turn = is_task ? 0 : gates_.turn_of(agent),
                             .stop = context.stop(),
                             .timeout = setup_[Knob::short_times] == 1 ? Duration(std::chrono::seconds(1))
                                                                       : TreeOptions().tool_timeout,
                             .kill_grace = kill_grace,
                             .max_output = max_output,
                             .has_room = setup_[Knob::small_bytes] == 0});
    }
    const Returning returning(process_rules_);
    start(arguments, context, std::move(done));
  };
  tools_->add(std::move(tool));
}

SubprocessCommand World::next_command() {
  const test::HostCode host;
  ++events_;
  const std::uint32_t number = ++program_starts_;
  run_pending(place_of(Callback::tool_call));
  throw_if_due();
  const std::uint32_t instant = setup_[Knob::instant_tools], deaf = setup_[Knob::deaf_tools];
  processes_->next_program(deaf == 2 || (deaf == 1 && number % 3 == 0),
                           instant == 2 || (instant == 1 && number % 2 == 0));
  SubprocessCommand command;
  command.arguments = {"program"};
  if (number % 3 != 0) command.input.assign(number % 3 == 1 ? 300 : 5, 'i');
  return command;
}

bool World::act_as_program(const Command& command) {
  if (command.act < Act::program_writes || command.act > Act::program_calls_fail) return false;
  if (setup_[Knob::programs] == 0) return true;
  const auto [n, a, b] = command.n;
  SimProcesses& all = *processes_;
  bool done = true;
  switch (command.act) {
    case Act::program_writes:
      done = all.writes(n, a % 4 == 3, std::array<std::size_t, 5>{1, 10, 60, 99, 250}[b % 5]);
      break;
    case Act::program_reads:
      done = all.reads(n, 1 + a % 100);
      break;
    case Act::program_closes:
      done = all.closes(n, a);
      break;
    case Act::program_exits:
      done = all.exits(n, static_cast<int>(std::array{0, 0, 1, 3}[a % 4]));
      break;
    case Act::program_dies:
      done = all.dies(n, std::array{SIGSEGV, SIGABRT, SIGKILL, SIGTERM, SIGHUP}[a % 5]);
      break;
    case Act::program_ignores:
      done = all.ignores_term(n);
      break;
    case Act::program_hangs:
      done = all.hangs(n);
      break;
    case Act::program_forks:
      done = all.forks(n);
      break;
    case Act::program_leaves:
      done = all.leaves_group(n);
      break;
    default:
      if (!healed_) all.fail_next(ProcessFault(n % process_fault_count), 1 + a % 3);
  }
  note(command, done ? "done" : "none");
  return true;
}

void World::check_programs(bool after_poll) {
  if (setup_[Knob::programs] == 0 || !run_ || killed_ || tree_is_destroyed_) return;
  process_rules_.check_stopped(!cuts_later_);
  if (after_poll) process_rules_.check_quiet(*processes_);
}

// The process ends: of its programs nothing is left but those that no signal ends.
void World::end_programs() {
  const std::string left = processes_->end_host();
  verdict_.require(left.empty(), "G13", "after the end of the Runtime there is " + left);
  // A second for each program that no signal ends, and a moment for a call that is interrupted.
  const auto most = std::chrono::seconds(processes_->hanging()) + std::chrono::milliseconds(100);
  verdict_.require(processes_->waited() <= most, "G13", "the end of the Runtime waits too long");
  processes_->begin_host();
  process_rules_.process_ended();
}

}  // namespace agentcore::sim
