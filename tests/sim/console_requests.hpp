// Requests: what people ask of the console, one for each route and each choice of its body that the rules
// tell apart. scripts/check-simulated demands one for each route.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace agentcore::sim {

enum class Request : std::uint8_t {
  send,
  steer,
  stop,
  stop_at_once,     // wait=gate
  stop_to_the_end,  // wait=settled
  stop_later,       // after_step
  terminate,
  resume,
  pause,
  unpause,
  interrupt,
  abort,
  release,
  create,
  task,
  stop_all,
  resume_all,
  pause_all,
  unpause_all,
  show_agents,
  show_agent,
  show_conversation,
  not_json,
  no_such_route,
  // Messages and agents.
  send_urgent,
  send_long,
  steer_now,
  create_named,
  // Ends.
  stop_alone,  // without a cascade
  stop_after_turn,
  stop_all_later,  // after_step
  terminate_to_the_end,
  terminate_later,  // after_turn
  interrupt_below,
  cancel_call,
  cancel_background,
  // Questions.
  answer,
  approve,
  approve_for_agent,
  approve_below,
  decline,
  // Mailboxes.
  show_queue,
  remove_queued,
  // Tasks.
  task_with_key,
  task_alone,  // makes its agent
  task_alone_with_key,
  list_tasks,
  show_task,
  show_result,
  await_result,
  follow_task,
  terminate_task,
  interact,
  interact_to_approve,
  interact_to_decline,
  // What is shown.
  show_questions,
  show_reach,
  show_receipts,
  show_usage,
  show_session,
  show_health,
  show_document,
  show_page,
  show_file,
  log_in,
  log_in_wrongly,
  log_out,
  follow_agent,  // HEAD of the events of a subtree
  // Wrong ones.
  unknown_member,
  unknown_parameter,
  other_site,
  last
};

// What a route demands: RouteUse.
enum class RequestUse : std::uint8_t { open, login, read, write, stop };

RequestUse use_of(Request request);
// It may change something for the rules, or ends something.
inline bool changes(Request request) {
  return use_of(request) == RequestUse::write || use_of(request) == RequestUse::stop;
}
bool is_stop(Request request);       // one that takes effect at once
bool is_terminate(Request request);  // also a deferred one
bool makes_task(Request request);
bool has_key(Request request);
// Its answer comes when something has ended, and not before.
bool waits(Request request);

// What a request is about: each has what its route needs.
struct Subject {
  std::string agent, question, message, call, background, task;
  std::string key;  // of Idempotency-Key
  std::uint32_t number = 0;
};
std::string body_of(Request request, const Subject& subject);
// `access`: header lines that give access.
std::string text_of(Request request, const Subject& subject, std::string_view access);

constexpr std::string_view token_of_console = "the token of the console";

}  // namespace agentcore::sim
