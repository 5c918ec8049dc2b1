// Commands: what happens in a simulated world, one after the other. A run is a Setup and a list of commands;
// both have a text, so that a failure can be kept, made smaller and pasted into a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::sim {

// What can be done. World::act() says what the numbers of each command mean: they are taken modulo the
// number of choices, so that each command means something at any time.
enum class Act : std::uint8_t {
  // The loop and time.
  poll,
  poll_until_quiet,
  poll_without_budget,
  time_passes,
  next_timer,
  run_job,
  // Agents.
  create_root,
  create_many,
  create_child,
  send,
  send_urgent,
  send_with_deadline,
  simulate,
  steer,
  abort,
  interrupt,
  release_queue,
  pause,
  unpause,
  renew,
  stop,
  resume,
  terminate,
  cancel_call,
  complete_call,
  drop_queue,
  edit_queued,
  remove_queued,
  grant,
  grant_subtree,
  set_model,
  set_llm,
  set_system_prompt,
  set_tools,
  // Conversations.
  acknowledge,
  truncate_answer,
  rewind,
  regenerate,
  fork,
  // The tree.
  stop_all,
  resume_all,
  pause_all,
  unpause_all,
  answer,
  approve,
  decline,
  revoke,
  cancel_task,
  flush,
  // Models.
  model_text,
  model_reasoning,
  model_answers,
  model_calls,
  model_is_cut,
  model_fails,
  // The servers of models behind HTTP (Knob::models).
  server_sends,
  server_errors,
  server_resets,
  server_closes,
  server_garbage,
  // Tools.
  tool_done,
  tool_fails,
  tool_dropped,
  tool_progress,
  tool_asks,
  tool_sends,
  tool_creates,
  // People at the console.
  http_request,
  http_moves,
  http_follows,
  http_reads,
  http_leaves,
  // Faults, and the end of the process.
  store_refuses,
  store_is_unknown,
  callback_throws,
  destroy_tree,
  restart,
  kill,
  // Faults cease in a part of the world.
  calm,
  // The disk of a store in a file (Knob::store).
  disk_fails,
  disk_fills,
  disk_is_slow,
  disk_is_busy,
  disk_dies,
  // The processes of programs that agents run (Knob::programs).
  program_writes,
  program_reads,
  program_closes,
  program_exits,
  program_dies,
  program_ignores,
  program_hangs,
  program_forks,
  program_leaves,
  program_calls_fail,
  // The sockets of a console and of models over HTTP (SocketFault).
  socket_fails,
  // Agents as documents.
  export_agents,
  import_agents,
  // Agents whose lifetime ends with a scope.
  open_scope,
  scope_creates,
  scope_attaches,
  close_scope,
  release_scope,
  // Another tree is restored from the store.
  second_owner,
  // A copy of the store is restored.
  damage_record,
  lose_code,
};
constexpr std::size_t act_count = static_cast<std::size_t>(Act::lose_code) + 1;
std::string_view to_string(Act act) noexcept;

// Where a command takes place: between two polls, or within the next callback of a kind.
struct Place {
  std::uint8_t number = 0;  // 0: between two polls

  bool is_callback() const noexcept { return number != 0; }
  friend bool operator==(Place, Place) noexcept = default;
};
// The callbacks that are no events: their numbers follow those of the types of events, from 1.
enum class Callback : std::uint8_t {
  model_call,
  tool_call,
  handler,
  message_end,
  settled,
  policy,
  retry,
  last
};
Place place_of_event(std::size_t index) noexcept;
Place place_of(Callback callback) noexcept;
std::size_t place_count() noexcept;
bool is_event(Place place) noexcept;
std::string_view to_string(Place place) noexcept;

struct Command {
  Act act = Act::poll;
  std::array<std::uint32_t, 3> n{};
  Place place = {};

  friend bool operator==(const Command&, const Command&) = default;
};
// "stop 1 0 3", "in ToolStarted: stop 1 0 3".
std::string to_string(const Command& command);
std::optional<Command> command_from(std::string_view line);
std::ostream& operator<<(std::ostream& out, const Command& command);

// What does not change in a run. 0 is the plain choice of each.
enum class Knob : std::uint8_t {
  store,  // 0: none, 1: in memory; SQLite on a disk that keeps at a kill 2: all, 3: what was flushed
  background_store,  // 1: commits run as jobs of an executor
  durability,        // Durability
  turns_go_on,       // InterruptedTurns
  max_attempts,      // 0: no limit; else RestoreOptions::max_attempts
  mailbox_limit,     // 0: the usual one; else 1 to 4
  no_grace,          // 1: StopOptions::grace is 0
  deaf_models,       // 1: some models ignore a stop, 2: all
  deaf_tools,        // the same of tools
  eager_stops,       // 1: models and tools end within the stop callback
  instant_tools,     // 1: some tools deliver their result before they return, 2: all
  small_limits,      // 1: limits of agents, tasks, lingering calls and reasks are as small as possible
  console,           // a console shows the tree; 2, 4: with a token; 3, 4: answers do not wait for the store
  small_io,          // 1: the poller finds one descriptor at a time; else n: a call moves n bytes at most
  models,            // 0: clients of a kind of their own; then HTTP: a client of each provider, and routers
  call_limits,       // of the router: 1: one call; 2: one for each endpoint; 3: for each agent; 4: by time
  plain_arguments,   // 1: the arguments of all tool calls are {}: a destructor of JSON with members allocates
  small_batches,     // 1: RuntimeOptions::poll_budget is 0: a poll does as little as it can
  small_bytes,       // 1: limits of messages, answers and results are a few bytes, no connection is kept
  short_times,  // 1: time-outs of tools and questions are 1 s, the grace of a stop is 1 ms; 2: some tools
                // have a ToolSpec::timeout
  real,  // 1: sockets, poller and files of the system; 2: none, and all is as there; 3: 1 with little room
  programs,  // agents run programs; 2, 4: which die a moment after their signal; 3, 4: without pidfd_open()
  after_failure,  // of a commit: RestoreOptions::on_failure is 0: not set, 1: retry, 2: go_on, 3: stop_all
};
constexpr std::size_t knob_count = static_cast<std::size_t>(Knob::after_failure) + 1;
std::string_view to_string(Knob knob) noexcept;

struct Setup {
  std::array<std::uint32_t, knob_count> values{};

  std::uint32_t operator[](Knob knob) const noexcept { return values[static_cast<std::size_t>(knob)]; }
  std::uint32_t& operator[](Knob knob) noexcept { return values[static_cast<std::size_t>(knob)]; }
  friend bool operator==(const Setup&, const Setup&) = default;
};

// With sockets, a poller and files of the system.
inline bool is_real(const Setup& setup) noexcept {
  return setup[Knob::real] % 2 == 1;
}

struct Script {
  Setup setup;
  std::vector<Command> commands;

  friend bool operator==(const Script&, const Script&) = default;
};
// One line for each knob that is not 0 ("set store 1") and one for each command; '#' begins a comment.
std::string to_string(const Script& script);
// Throws std::invalid_argument with the number of the line that is wrong.
Script script_from(std::string_view text);

}  // namespace agentcore::sim
