// The errors of a call over HTTP: what happened, where, and what to change.
#pragma once

#include "llm/dialects/wire_format.hpp"
#include "llm/http/error_class.hpp"
#include "llm/http/redactor.hpp"
#include "net/transport.hpp"

#include <agentcore/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Makes the errors of one client. Their messages are safe to show (display()), at most about a thousand
// characters long, and without the client's secrets. classify() decides what a provider's error means.
class CallErrors {
 public:
  // `place`: the address of the calls, as net::location_of() writes it; empty: not known.
  explicit CallErrors(Redactor redact, std::string place = {})
      : redact_(std::move(redact)), place_(std::move(place)) {}

  // A received text in a form that may be shown.
  std::string without_secrets(std::string_view text) const { return redact_(text); }

  // The transfer failed.
  ChatError transfer(const net::HttpEnd& end) const;
  // A status outside 2xx; `object` is the parsed body, null when the body is not JSON. `note`: added by the
  // transport, e.g. why a redirect was not followed.
  ChatError status(int status, std::string_view body, const AnswerObject* object, std::string_view note,
                   const RetryHeaders& headers) const;
  // An error object inside an answer with a good status.
  ChatError api(int status, const ApiError& error) const;
  // A whole answer that is not JSON (O5), or lacks a required part (O6). An empty answer is retryable, as an
  // empty stream is: of a stream, `body` is its last event.
  ChatError not_json(int status, std::string_view body) const;
  ChatError no_answer(int status, std::string_view body) const;
  // An answer without text and calls, which ended for a reason that this client does not know.
  ChatError empty_answer(int status) const;
  // A whole answer that has only items of these types.
  ChatError no_usable_item(int status, std::string_view types) const;
  // A stream: a chunk that is not JSON, a second message, a line that is too long, no end of the answer.
  ChatError bad_chunk(int status, std::string_view chunk) const;
  ChatError other_message(int status) const;
  ChatError line_too_long(int status, std::size_t limit) const;
  ChatError cut_short(int status) const;
  // The texts, the reasoning and the arguments of an answer, or a whole body.
  ChatError answer_too_large(int status, std::size_t max_bytes) const;
  // The reasoning of an answer, and its tool calls; `max_bytes` is their limit.
  ChatError reasoning_too_large(int status, std::size_t max_bytes) const;
  ChatError tool_calls(int status, ToolCallFault fault, std::size_t max_bytes) const;

 private:
  ChatError make(Errc code, std::string_view message, int status, bool retryable,
                 std::string_view tail = {}) const;
  static ChatError classified(ChatError error, const ErrorClass& found);
  ChatError too_large(int status, std::string_view what, std::size_t limit, std::string_view option) const;
  std::string from(std::string_view advice = {}, std::string_view what = "the answer") const;
  std::string shown(std::string_view received) const;
  std::string message_of(const ApiError& error) const;
  std::string provider_behind(const ApiError* error) const;
  std::string excerpt(std::string_view raw, std::size_t characters) const;

  Redactor redact_;
  std::string place_;
};

}  // namespace agentcore::detail::llm
