// Errors: the codes Errc, Error, and Result<T>, which holds a value or an Error. Errors of model calls have
// more fields: ChatError in chat.hpp.
#pragma once

#include <agentcore/export.hpp>

#include <cassert>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace agentcore {

/// The reason of a failure or a refusal. to_string() returns the name of the enumerator, which is also the
/// form that is used in protocols. Only the state in which a verb has found an agent has words of its own
/// over HTTP: "stopping", "stopped" and "terminating".
enum class Errc : unsigned char {
  none,  ///< no error; to_string() returns ""

  // Finding and creating agents.
  missing_agent_id,  ///< the id is empty
  agent_not_found,   ///< no such agent: it never existed, or it, or its tree, was deleted
  runtime_gone,      ///< the Runtime was destroyed: the tree can only be read
  wrong_thread,      ///< a function of the loop thread was called on another thread, and did nothing: call it
                     ///< in a function that is passed to Runtime::post()
  invalid_agent_id,  ///< longer than 255 bytes, not UTF-8, or beginning with '@' (reserved for generated ids)
  agent_exists,      ///< the id is in use; a terminating agent still uses its id
  depth_limit,       ///< the tree would become deeper than TreeOptions::max_depth
  agent_limit,       ///< the tree would have more agents than TreeOptions::max_agents
  no_llm_client,     ///< a message arrived, but neither the agent nor its tree has an LlmClient or handler

  // A message or a new operation is refused (G12), or a verb finds nothing to do, because of the state of the
  // agent or of an ancestor.
  agent_stopping,     ///< the agent, or an ancestor, is stopping, or, of a message, has a deferred stop
                      ///< pending. resume: the stop has not settled yet
  agent_stopped,      ///< the agent, or an ancestor, is stopped
  agent_terminating,  ///< the agent, or an ancestor, is being deleted
  mailbox_full,       ///< the mailbox has as many messages as AgentLimits::mailbox allows
  message_too_large,  ///< the message is larger than TreeOptions::max_message_bytes
  invalid_utf8,       ///< the text is not UTF-8
  empty_message,      ///< no image, and no text other than white space
  out_of_memory,      ///< an allocation failed; a function that returns this has changed nothing

  message_not_found,  ///< no message with this id waits in the mailbox of the agent
  turn_not_found,     ///< rewind, regenerate, fork: the conversation has no such turn; fork: or it is in
                      ///< progress

  // A verb found nothing to do.
  not_waiting_llm,  ///< abort: the agent has no model call
  not_stopped,      ///< resume: the agent is not stopped
  parent_stopped,   ///< resume: an ancestor is stopped; resume that ancestor
  turn_over,        ///< interrupt, acknowledge: the turn that was meant is not in progress.
                    ///< truncate_answer: its answer is not the last message. rewind, regenerate: it is
                    ///< just ending. CompactionChanged: it has ended
  not_held,         ///< release_queue: the mailbox is not held
  stop_pending,     ///< stop, terminate: what is pending includes it
  no_lease,         ///< renew: the agent has no lease of its own
  lease_expired,    ///< renew: the lease has run out; resume() gives a new one
  paused,           ///< pause: the agent is paused already
  not_paused,       ///< unpause: pause() was not called for the agent
  call_not_found,   ///< cancel_call, complete_call, cancel_task: nothing with this id runs
  call_over,        ///< cancel_call, complete_call, cancel_task, functions of ToolContext: it has ended, or
                    ///< its agent is closed

  // Permissions.
  not_child_agent,             ///< an agent may stop and terminate only its own children
  cannot_delete_system_agent,  ///< terminate: the agent is an AgentRole::system or AgentRole::user
  cannot_stop_user,            ///< stop: the agent is an AgentRole::user

  // A model call ended without an answer.
  cancelled,            ///< its stop token was triggered; neither an error nor a success
  connect_timeout,      ///< no connection (name resolution, TCP, TLS) within the time-out
  first_byte_timeout,   ///< connected, but no byte of the answer arrived within the time-out
  stall_timeout,        ///< the answer began, but no further byte arrived within the time-out
  total_timeout,        ///< the whole call took longer than the client allows
  deadline_exceeded,    ///< ChatRequest::deadline passed, or the deadline of the turn
  resolve_failed,       ///< the host name could not be resolved
  network_error,        ///< the connection was refused, reset or closed early
  tls_error,            ///< TLS: the certificate or the handshake failed
  http_error,           ///< an HTTP status outside 2xx, without an error body of the provider
  api_error,            ///< an error body of the provider, with any HTTP status
  account_exhausted,    ///< the account at the provider has no balance, credit or quota left
  unsupported_part,     ///< a message has an image, document or sound that the server does not take there
  invalid_response,     ///< the answer violates the protocol
  response_too_large,   ///< the answer has more bytes than the limit of the client or the tree; or a summary
                        ///< does not fit into ContextOptions::max_tokens
  request_in_progress,  ///< this agent id has an open call in this client
  queue_full,           ///< too many calls wait for a slot
  circuit_open,         ///< the endpoint failed too often recently; no call is sent to it for some time
  client_dropped_call,  ///< the LlmClient destroyed its ChatSink without an outcome
  callback_failed,      ///< a function of the host threw

  // A turn ended without an answer in words, or with one that is not valid.
  tool_round_limit,  ///< AgentLimits::tool_rounds answers in a row had tool calls, and so had the next
  invalid_answer,   ///< the text of the answer does not match ModelOptions::response_format; or a summary was
                    ///< cut off, blank, filtered or refused (CompactionChanged)
  answer_cut_off,   ///< the answer has tool calls, but did not end as an answer with calls does: a token
                    ///< limit, a content filter or a refusal ended it; none of the calls was started
  budget_exceeded,  ///< a Budget is used up

  // Questions to people.
  question_not_found,  ///< no question with this id was ever asked
  question_closed,     ///< the question was answered, its call was cancelled, or it timed out
  not_an_approval,     ///< approve: the question is not an approval (QuestionKind::approval)
  is_an_approval,      ///< answer: the question is an approval; approve() or decline() decides
  grant_not_found,     ///< revoke: no grant has this id, or it has ended

  // Data from outside.
  invalid_history,    ///< not a JSON array of chat messages, or not a valid history
  invalid_recording,  ///< not a recording of HTTP exchanges, or none of its exchanges matches the request
  invalid_config,     ///< an option is invalid; the message names it

  // Stores. The message names the file and what to do.
  store_in_use,       ///< another process or store writes the file; or another tree uses the Store
  store_unavailable,  ///< the file cannot be opened or created, belongs to another program, or was removed
                      ///< or replaced while it was open
  store_read_only,    ///< the store, the file or its folder may not be written
  store_full,         ///< the disk is full, or the size limit of the store is reached
  store_corrupt,      ///< the file is damaged, or is no file of a store
  store_newer,        ///< a newer version of this library has written the file
  store_failed,       ///< any other failure of the store, e.g. an error of the disk
  store_fenced,       ///< another tree was restored from the store since, and has taken the agents over
};

/// The name of the enumerator, e.g. "agent_not_found"; "" for Errc::none. As with all functions of this name
/// that return a std::string_view, the name is followed by a NUL: data() is a C string.
AGENTCORE_API std::string_view to_string(Errc code) noexcept;

/// An error as a value.
struct Error {
  Errc code = Errc::none;  ///< the reason
  /// A text for people. Never contains a secret; foreign text in it is in the form of display().
  std::string message = {};
};

/// The exception that Result<T>::value() throws if the Result holds an Error. what() returns the name of the
/// code and the message.
class AGENTCORE_API BadResultAccess : public std::exception {
 public:
  explicit BadResultAccess(const Error& error);
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

namespace detail {
/// Internal: throws BadResultAccess. Not inline, so that the headers can be used with -fno-exceptions.
[[noreturn]] AGENTCORE_API void throw_bad_result(const Error& error);
}  // namespace detail

/// A value or an Error, with the interface of std::expected<T, Error>. Two kinds of functions return
/// something else: a message that was sent has an id (SendResult), and a verb that finds nothing to do has
/// neither failed nor taken effect (VerbResult).
///
/// value() throws BadResultAccess if there is no value. `*`, `->` and error() do not check in every build:
/// what they return must be there. An assertion says so, with the file and the line, in programs that are
/// compiled with assertions (without NDEBUG); in others it is undefined, as in std::expected.
///
///     agentcore::Result<agentcore::Agent> agent = tree.create({.id = "planner"});
///     if (!agent) {
///       std::fprintf(stderr, "%s\n", agent.error().message.c_str());
///       return 1;
///     }
///     std::puts(agent->id().c_str());
template <typename T>
class [[nodiscard]] Result {
 public:
  /// Holds `value`.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  /// Holds `error`.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  /// True if it holds a value.
  bool has_value() const noexcept { return state_.index() == 0; }
  /// The same as has_value().
  explicit operator bool() const noexcept { return has_value(); }

  /// The value. Throws BadResultAccess if it holds an Error.
  T& value() & { return check(), std::get<0>(state_); }
  const T& value() const& { return check(), std::get<0>(state_); }
  /// Returns the value by value, so that `for (auto& message : agent.conversation().value())` does not
  /// dangle.
  T value() && { return check(), std::get<0>(std::move(state_)); }
  /// A copy of the value, or `other` if it holds an Error.
  template <typename U>
  T value_or(U&& other) const& {
    return has_value() ? std::get<0>(state_) : static_cast<T>(std::forward<U>(other));
  }

  /// The value. has_value() must be true; asserted.
  T& operator*() & noexcept { return assert_value(), *std::get_if<0>(&state_); }
  const T& operator*() const& noexcept { return assert_value(), *std::get_if<0>(&state_); }
  T operator*() && { return assert_value(), std::move(*std::get_if<0>(&state_)); }
  T* operator->() noexcept { return assert_value(), std::get_if<0>(&state_); }
  const T* operator->() const noexcept { return assert_value(), std::get_if<0>(&state_); }

  /// The error. has_value() must be false; asserted.
  const Error& error() const& noexcept {
    assert(!has_value() && "Result::error(): it holds a value; ask has_value() first");
    return *std::get_if<1>(&state_);
  }
  /// The code of the error; `none` if it holds a value.
  Errc code() const noexcept { return has_value() ? Errc::none : error().code; }

 private:
  void assert_value() const noexcept {
    assert(has_value() && "Result: it holds an Error and no value; ask has_value() first, or call value()");
  }
  void check() const {
    if (!has_value()) detail::throw_bad_result(error());
  }
  std::variant<T, Error> state_;
};

/// Success, or an Error. If a function that changes something returns an Error, nothing was changed, unless
/// it says otherwise.
///
///     if (agentcore::Result<void> done = store.commit(batch, agentcore::StoreSync::disk); !done)
///       std::fprintf(stderr, "%s\n", done.error().message.c_str());
template <>
class [[nodiscard]] Result<void> {
 public:
  /// Success.
  Result() = default;
  /// Holds `error`.
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit by design

  /// True if it holds no Error.
  bool has_value() const noexcept { return !error_; }
  /// The same as has_value().
  explicit operator bool() const noexcept { return has_value(); }
  /// Throws BadResultAccess if it holds an Error.
  void value() const {
    if (error_) detail::throw_bad_result(*error_);
  }
  /// The error. has_value() must be false; asserted.
  const Error& error() const& noexcept {
    assert(error_ && "Result::error(): it holds no Error; ask has_value() first");
    return *error_;
  }
  /// The code of the error; `none` if it holds no Error.
  Errc code() const noexcept { return error_ ? error_->code : Errc::none; }

 private:
  std::optional<Error> error_;
};

}  // namespace agentcore
