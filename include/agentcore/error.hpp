// Errors and refusals: one vocabulary of codes, and Result<T>, a value or an Error.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agentcore {

// Why something failed or was refused. `to_string` gives the word that goes over a wire, spelled as here.
enum class Errc : unsigned char {
  none,  // no error; prints as ""

  // Finding and creating agents.
  missing_agent_id,  // the id given is empty
  agent_not_found,   // no such agent: never made, deleted, or its tree is gone
  runtime_gone,      // the Runtime was destroyed: the tree can only be read
  invalid_agent_id,  // longer than 255 bytes, not UTF-8, or beginning with '@' (kept for generated ids)
  agent_exists,      // the id is taken; a terminating agent still holds its id
  depth_limit,       // the tree would become deeper than TreeOptions::max_depth
  agent_limit,       // the tree would hold more agents than TreeOptions::max_agents
  no_llm_client,     // an agent got a message, and neither it nor its tree has an LlmClient or a handler

  // Refusals of a message or of a new operation, by the state of the agent or of an ancestor (G12).
  agent_stopping,
  agent_stopped,
  agent_terminating,
  mailbox_full,
  message_too_large,
  invalid_utf8,
  empty_message,  // no picture, and no text but white space
  out_of_memory,  // an allocation failed; a call that returns this has changed nothing

  // What a verb found instead of work to do.
  not_waiting_llm,  // abort: no model call to abort
  stopping,         // stop: it is already on its way
  stopped,          // stop: it already stopped
  terminating,      // stop, resume or terminate: the agent is being deleted
  not_stopped,      // resume: nothing to resume
  parent_stopped,   // resume: an ancestor is stopped; resume that one

  // Permissions.
  not_child_agent,             // an agent may stop and delete only its own children
  not_allowed,                 // only the host may do this
  cannot_delete_system_agent,  // AgentRole::system and AgentRole::user
  cannot_stop_user,            // AgentRole::user

  // How a model call ended, other than with an answer.
  cancelled,            // its stop token was triggered; neither an error nor a success
  connect_timeout,      // no connection (name, TCP, TLS) in time
  first_byte_timeout,   // connected, but no answer began in time
  stall_timeout,        // the answer began, then fell silent
  total_timeout,        // the whole call took longer than the client allows
  deadline_exceeded,    // the caller's own ChatRequest::deadline passed
  resolve_failed,       // the host name is unknown
  network_error,        // refused, reset, cut
  tls_error,            // certificate or handshake
  http_error,           // a status outside 2xx without a provider's error body
  api_error,            // the provider's own error object, over any status
  invalid_response,     // the answer is not what the protocol says
  response_too_large,   // more bytes than the client's limit
  request_in_progress,  // this agent id already has a call in this client
  queue_full,           // too many calls wait for a slot already
  circuit_open,         // the endpoint failed too often just now; it is left alone for a while
  client_dropped_call,  // the LlmClient lost its ChatSink without an outcome
  callback_failed,      // a function of the host threw

  // How a turn ended, other than with an answer in words.
  tool_turn_limit,  // AgentSpec::max_tool_turns answers in a row asked for tools, and so did the next
  budget_exceeded,  // a Budget was used up

  // Questions to people.
  question_not_found,  // no such question was ever asked
  question_closed,     // it was answered before, or its call was stopped, or its time is over

  // Data from outside.
  invalid_history,    // not a JSON array of chat messages, or not a valid history
  invalid_recording,  // not a recording of HTTP exchanges, or none of its exchanges fits
  invalid_config,     // an option has no meaning; the message says which
};

std::string_view to_string(Errc code) noexcept;

// An error as a value. `message` is for people; it never contains a secret.
struct Error {
  Errc code = Errc::none;
  std::string message = {};
  int http_status = 0;     // 0: no HTTP answer was involved
  bool retryable = false;  // the same call may succeed later
  // Of a model call: another model may well take what this one refused, because it is this model that is
  // unknown, too small for the context, or not to be had; or because this provider's account is used up.
  bool model_specific = false;
  std::chrono::milliseconds retry_after{0};  // how long the server asked to be left alone; 0: it did not say
};

// What Result<T>::value() throws when there is an error instead.
class BadResultAccess : public std::exception {
 public:
  explicit BadResultAccess(const Error& error);
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// A value or an Error, spelled like std::expected<T, Error>.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  // The value. Throws BadResultAccess when there is none.
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  // By value, so that `for (auto& message : agent.conversation().value())` does not dangle.
  T value() && { return check(), std::get<0>(std::move(state_)); }
  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? std::get<0>(state_) : static_cast<T>(std::forward<U>(other));
  }

  // The value, unchecked as in std::expected: only after has_value().
  T& operator*() & noexcept { return *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return std::get_if<0>(&state_); }

  // The error. Only when !has_value().
  const Error& error() const& noexcept { return *std::get_if<1>(&state_); }

 private:
  void check() const {
    if (!has_value()) throw BadResultAccess(error());
  }
  std::variant<T, Error> state_;
};

}  // namespace agentcore
