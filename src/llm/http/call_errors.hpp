// What went wrong with a call to an OpenAI-compatible server, in words that a person can act on.
#pragma once

#include "llm/dialects/wire_format.hpp"
#include "llm/http/redactor.hpp"
#include "net/transport.hpp"

#include <agentcore/error.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace agentcore::llm {

// Makes the errors of one client. Their messages are valid UTF-8, at most about a thousand characters long,
// and without the client's secrets. `retryable` follows X19.
class CallErrors {
 public:
  // `place`: where the calls go, as net::location_of() shows it; empty: not known.
  explicit CallErrors(Redactor redact, std::string place = {})
      : redact_(std::move(redact)), place_(std::move(place)) {}

  // A text from outside as it may be shown.
  std::string without_secrets(std::string_view text) const { return redact_(text); }

  // The transfer failed.
  Error transfer(const net::HttpEnd& end) const;
  // A status outside 2xx; `object` is what its body said, null when that was no JSON. `note`: what the
  // transport says to it, e.g. why a redirect was not followed.
  Error status(int status, std::string_view body, const AnswerObject* object, std::string_view note,
               std::chrono::milliseconds retry_after) const;
  // An error object inside an answer with a good status.
  Error api(int status, const ApiError& error) const;
  // A whole answer that is not JSON (O5), or without what an answer must have (O6).
  Error not_json(int status, std::string_view body) const;
  Error no_answer(int status, std::string_view body) const;
  // A whole answer that holds nothing but items of these types.
  Error no_usable_item(int status, std::string_view types) const;
  // A stream: a chunk that is not JSON, a second message, a line that is too long, no end of the answer.
  Error bad_chunk(int status, std::string_view chunk) const;
  Error other_message(int status) const;
  Error line_too_long(int status, std::size_t limit) const;
  Error cut_short(int status) const;
  // The thoughts of an answer, and its tool calls; `max_bytes` is what they may have.
  Error reasoning_too_large(int status, std::size_t max_bytes) const;
  Error tool_calls(int status, ToolCallFault fault, std::size_t max_bytes) const;

 private:
  Error make(Errc code, std::string_view message, int status, bool retryable,
             std::string_view tail = {}) const;
  Error too_large(int status, std::string_view what, std::size_t limit, std::string_view option) const;
  std::string from(std::string_view advice = {}, std::string_view what = "the answer") const;
  std::string words_of(const ApiError& error) const;
  std::string excerpt(std::string_view raw, std::size_t characters) const;

  Redactor redact_;
  std::string place_;
};

}  // namespace agentcore::llm
