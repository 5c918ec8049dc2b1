// The words for error codes and causes.
#include <agentcore/error.hpp>
#include <agentcore/verbs.hpp>

namespace agentcore {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::none:
      return "";
    case Errc::missing_agent_id:
      return "missing_agent_id";
    case Errc::agent_not_found:
      return "agent_not_found";
    case Errc::runtime_gone:
      return "runtime_gone";
    case Errc::invalid_agent_id:
      return "invalid_agent_id";
    case Errc::agent_exists:
      return "agent_exists";
    case Errc::depth_limit:
      return "depth_limit";
    case Errc::agent_limit:
      return "agent_limit";
    case Errc::no_llm_client:
      return "no_llm_client";
    case Errc::agent_stopping:
      return "agent_stopping";
    case Errc::agent_stopped:
      return "agent_stopped";
    case Errc::agent_terminating:
      return "agent_terminating";
    case Errc::mailbox_full:
      return "mailbox_full";
    case Errc::message_too_large:
      return "message_too_large";
    case Errc::invalid_utf8:
      return "invalid_utf8";
    case Errc::empty_message:
      return "empty_message";
    case Errc::out_of_memory:
      return "out_of_memory";
    case Errc::not_waiting_llm:
      return "not_waiting_llm";
    case Errc::stopping:
      return "stopping";
    case Errc::stopped:
      return "stopped";
    case Errc::terminating:
      return "terminating";
    case Errc::not_stopped:
      return "not_stopped";
    case Errc::parent_stopped:
      return "parent_stopped";
    case Errc::not_child_agent:
      return "not_child_agent";
    case Errc::not_allowed:
      return "not_allowed";
    case Errc::cannot_delete_system_agent:
      return "cannot_delete_system_agent";
    case Errc::cannot_stop_user:
      return "cannot_stop_user";
    case Errc::cancelled:
      return "cancelled";
    case Errc::connect_timeout:
      return "connect_timeout";
    case Errc::first_byte_timeout:
      return "first_byte_timeout";
    case Errc::stall_timeout:
      return "stall_timeout";
    case Errc::total_timeout:
      return "total_timeout";
    case Errc::deadline_exceeded:
      return "deadline_exceeded";
    case Errc::resolve_failed:
      return "resolve_failed";
    case Errc::network_error:
      return "network_error";
    case Errc::tls_error:
      return "tls_error";
    case Errc::http_error:
      return "http_error";
    case Errc::api_error:
      return "api_error";
    case Errc::invalid_response:
      return "invalid_response";
    case Errc::response_too_large:
      return "response_too_large";
    case Errc::request_in_progress:
      return "request_in_progress";
    case Errc::queue_full:
      return "queue_full";
    case Errc::circuit_open:
      return "circuit_open";
    case Errc::client_dropped_call:
      return "client_dropped_call";
    case Errc::callback_failed:
      return "callback_failed";
    case Errc::tool_turn_limit:
      return "tool_turn_limit";
    case Errc::budget_exceeded:
      return "budget_exceeded";
    case Errc::question_not_found:
      return "question_not_found";
    case Errc::question_closed:
      return "question_closed";
    case Errc::invalid_history:
      return "invalid_history";
    case Errc::invalid_recording:
      return "invalid_recording";
    case Errc::invalid_config:
      return "invalid_config";
  }
  return "unknown";
}

std::string_view to_string(StopCause cause) noexcept {
  switch (cause) {
    case StopCause::user:
      return "user";
    case StopCause::parent:
      return "parent";
    case StopCause::deadline:
      return "deadline";
    case StopCause::budget:
      return "budget";
    case StopCause::shutdown:
      return "shutdown";
    case StopCause::terminate:
      return "terminate";
  }
  return "unknown";
}

BadResultAccess::BadResultAccess(const Error& error)
    : what_(std::string(to_string(error.code)) + ": " + error.message) {
}

}  // namespace agentcore
