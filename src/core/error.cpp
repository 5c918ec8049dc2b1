// The names of error codes and causes.
#include "core/enum_names.hpp"

#include <agentcore/error.hpp>
#include <agentcore/stop_audit.hpp>
#include <agentcore/verbs.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames errc_names{std::to_array<detail::core::EnumName<Errc>>(
    {{Errc::none, ""},
     {Errc::missing_agent_id, "missing_agent_id"},
     {Errc::agent_not_found, "agent_not_found"},
     {Errc::runtime_gone, "runtime_gone"},
     {Errc::wrong_thread, "wrong_thread"},
     {Errc::invalid_agent_id, "invalid_agent_id"},
     {Errc::agent_exists, "agent_exists"},
     {Errc::depth_limit, "depth_limit"},
     {Errc::agent_limit, "agent_limit"},
     {Errc::no_llm_client, "no_llm_client"},
     {Errc::agent_stopping, "agent_stopping"},
     {Errc::agent_stopped, "agent_stopped"},
     {Errc::agent_terminating, "agent_terminating"},
     {Errc::mailbox_full, "mailbox_full"},
     {Errc::message_too_large, "message_too_large"},
     {Errc::invalid_utf8, "invalid_utf8"},
     {Errc::empty_message, "empty_message"},
     {Errc::out_of_memory, "out_of_memory"},
     {Errc::message_not_found, "message_not_found"},
     {Errc::turn_not_found, "turn_not_found"},
     {Errc::not_waiting_llm, "not_waiting_llm"},
     {Errc::stopping, "stopping"},
     {Errc::stopped, "stopped"},
     {Errc::terminating, "terminating"},
     {Errc::not_stopped, "not_stopped"},
     {Errc::parent_stopped, "parent_stopped"},
     {Errc::turn_over, "turn_over"},
     {Errc::not_held, "not_held"},
     {Errc::stop_pending, "stop_pending"},
     {Errc::no_lease, "no_lease"},
     {Errc::lease_expired, "lease_expired"},
     {Errc::paused, "paused"},
     {Errc::not_paused, "not_paused"},
     {Errc::call_not_found, "call_not_found"},
     {Errc::call_over, "call_over"},
     {Errc::not_child_agent, "not_child_agent"},
     {Errc::cannot_delete_system_agent, "cannot_delete_system_agent"},
     {Errc::cannot_stop_user, "cannot_stop_user"},
     {Errc::cancelled, "cancelled"},
     {Errc::connect_timeout, "connect_timeout"},
     {Errc::first_byte_timeout, "first_byte_timeout"},
     {Errc::stall_timeout, "stall_timeout"},
     {Errc::total_timeout, "total_timeout"},
     {Errc::deadline_exceeded, "deadline_exceeded"},
     {Errc::resolve_failed, "resolve_failed"},
     {Errc::network_error, "network_error"},
     {Errc::tls_error, "tls_error"},
     {Errc::http_error, "http_error"},
     {Errc::api_error, "api_error"},
     {Errc::account_exhausted, "account_exhausted"},
     {Errc::unsupported_part, "unsupported_part"},
     {Errc::invalid_response, "invalid_response"},
     {Errc::response_too_large, "response_too_large"},
     {Errc::request_in_progress, "request_in_progress"},
     {Errc::queue_full, "queue_full"},
     {Errc::circuit_open, "circuit_open"},
     {Errc::client_dropped_call, "client_dropped_call"},
     {Errc::callback_failed, "callback_failed"},
     {Errc::tool_round_limit, "tool_round_limit"},
     {Errc::invalid_answer, "invalid_answer"},
     {Errc::answer_cut_off, "answer_cut_off"},
     {Errc::budget_exceeded, "budget_exceeded"},
     {Errc::question_not_found, "question_not_found"},
     {Errc::question_closed, "question_closed"},
     {Errc::not_an_approval, "not_an_approval"},
     {Errc::is_an_approval, "is_an_approval"},
     {Errc::grant_not_found, "grant_not_found"},
     {Errc::invalid_history, "invalid_history"},
     {Errc::invalid_recording, "invalid_recording"},
     {Errc::invalid_config, "invalid_config"},
     {Errc::store_in_use, "store_in_use"},
     {Errc::store_unavailable, "store_unavailable"},
     {Errc::store_read_only, "store_read_only"},
     {Errc::store_full, "store_full"},
     {Errc::store_corrupt, "store_corrupt"},
     {Errc::store_newer, "store_newer"},
     {Errc::store_failed, "store_failed"},
     {Errc::store_fenced, "store_fenced"}})};
static_assert(errc_names.is_in_order());

constexpr detail::core::EnumNames stop_cause_names{
    std::to_array<detail::core::EnumName<StopCause>>({{StopCause::user, "user"},
                                                      {StopCause::parent, "parent"},
                                                      {StopCause::deadline, "deadline"},
                                                      {StopCause::budget, "budget"},
                                                      {StopCause::shutdown, "shutdown"},
                                                      {StopCause::terminate, "terminate"},
                                                      {StopCause::lease, "lease"}})};
static_assert(stop_cause_names.is_in_order());

constexpr detail::core::EnumNames stop_when_names{std::to_array<detail::core::EnumName<StopWhen>>(
    {{StopWhen::now, "now"}, {StopWhen::after_step, "after_step"}, {StopWhen::after_turn, "after_turn"}})};
static_assert(stop_when_names.is_in_order());

constexpr detail::core::EnumNames stop_verb_names{std::to_array<detail::core::EnumName<StopVerb>>(
    {{StopVerb::stop, "stop"}, {StopVerb::terminate, "terminate"}})};
static_assert(stop_verb_names.is_in_order());

constexpr detail::core::EnumNames verb_status_names{std::to_array<detail::core::EnumName<VerbStatus>>(
    {{VerbStatus::done, "done"}, {VerbStatus::no_effect, "no_effect"}, {VerbStatus::refused, "refused"}})};
static_assert(verb_status_names.is_in_order());

}  // namespace

std::string_view to_string(Errc code) noexcept {
  return errc_names.name(code);
}

std::string_view to_string(StopVerb verb) noexcept {
  return stop_verb_names.name(verb);
}

std::string_view to_string(StopWhen when) noexcept {
  return stop_when_names.name(when);
}

std::string_view to_string(VerbStatus status) noexcept {
  return verb_status_names.name(status);
}

std::string_view to_string(StopCause cause) noexcept {
  return stop_cause_names.name(cause);
}

BadResultAccess::BadResultAccess(const Error& error)
    : what_(std::string(to_string(error.code)) + ": " + error.message) {
}

void detail::throw_bad_result(const Error& error) {
  throw BadResultAccess(error);
}

}  // namespace agentcore
