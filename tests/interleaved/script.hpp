// Script: what the threads of a run do, and how they are scheduled.
#pragma once

#include "interleaved/scheduler.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::interleaved {

// What a thread does. The functions of the loop thread come first.
enum class Act : std::uint8_t {
  // The loop thread alone.
  poll,
  sleep,          // until on_wake() is called, unless work is due
  drive,          // polls and sleeps until no other thread can go on
  model_answers,  // the model of an open call answers with text
  model_calls,    // with a call of a tool: `b`
  model_text,     // sends a piece of its answer
  model_fails,    // ends with an error
  create_child,
  drop_queue,
  remove_queued,  // the message that was sent last
  time_passes,    // to the next timer, if there is one
  renew_wake,     // another function of on_wake()
  scope,          // opens a TerminateScope with a new child of one agent, and another agent
  destroy_tree,   // ends this tree; with `b` also its Runtime
  // Any thread.
  send,
  send_urgent,
  steer,
  steer_now,
  stop,
  stop_alone,  // without the descendants
  stop_below,  // the descendants alone
  stop_few,    // StopCut::few, or none
  stop_after_turn,
  stop_after_step,
  resume,
  terminate,
  terminate_after_turn,
  abort,
  abort_and_clear,
  interrupt,
  interrupt_and_hold,
  interrupt_and_drop,
  interrupt_below,
  release_queue,
  pause,
  unpause,
  renew,
  cancel_call,
  complete_call,
  stop_all,
  resume_all,
  pause_all,
  unpause_all,
  tool_done,     // a tool delivers its result
  tool_dropped,  // a tool drops its ToolDone
  tool_reports,  // its progress
  tool_sends,    // a message to an agent
  run_job,       // the executor runs its oldest job
  work,          // a thread of a pool: runs jobs until no other thread can go on
  // The client of the models has threads of its own, which post what an open call has received:
  worker_sends,    // a piece of the answer
  worker_answers,  // the end of the answer
  worker_calls,    // with calls of tools
  close_scope,     // or destroys it
  release_scope,
  post,
  look,  // state, status, queue length, id
  copy,  // copies handles, and destroys them; after the end of the tree all of them
  count,
};
inline constexpr auto first_of_any_thread = Act::send;
std::string_view name(Act act) noexcept;

// When the loop thread does something: at its turn, or within the next callback of that kind.
enum class Moment : std::uint8_t {
  now,
  turn_started,
  text,
  tool_started,
  tool_ended,
  turn_ended,
  state_changed,
  model_call,
  tool_call,
  handler,
  message_end,
  settled,
  count,
};
std::string_view name(Moment moment) noexcept;
// What may be done within a callback.
constexpr bool may_be_within(Act act) noexcept {
  return act == Act::create_child || act == Act::drop_queue || act == Act::remove_queued ||
         act == Act::destroy_tree || act == Act::scope ||
         (act >= first_of_any_thread && act != Act::run_job && act != Act::work);
}

// The numbers choose an agent, a call or an option, modulo the number of choices.
struct Command {
  Act act = Act::poll;
  std::uint32_t a = 0, b = 0;
  std::vector<Fall> falls = {};
  Moment moment = Moment::now;
};
std::string to_text(const Command& command);  // without its falls

struct Script {
  std::uint32_t agents = 1;
  std::uint32_t budget =
      0;  // of a poll, in steps of the clock: 0: none, so that it takes one step of each kind
  std::uint32_t lease = 0;    // 1: the second agent has one
  std::uint32_t handler = 0;  // 1: the last agent has a MessageHandler
  std::uint32_t deaf = 0;     // 1: models go on after their stop token was triggered
  std::uint32_t warm = 0;     // how many of the agents have a model call before the threads begin
  std::vector<std::uint32_t> order;
  std::vector<std::vector<Command>> threads;  // the first one is the loop thread

  Schedule schedule() const;
  std::size_t size() const;  // of commands, and falls
};
std::string to_text(const Script& script);
// Throws std::invalid_argument.
Script script_from(std::string_view text);

// Commands, with falls anywhere. What a seed stands for: seeds.hpp.
Script generate(std::uint64_t seed);

}  // namespace agentcore::interleaved
