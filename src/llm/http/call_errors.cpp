#include "llm/http/call_errors.hpp"

#include "core/utf8.hpp"

#include <agentcore/display.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace agentcore::detail::llm {
namespace {

constexpr std::size_t message_characters = 1000;
constexpr std::size_t raw_characters = 500;       // of a raw answer, as O5 requires
constexpr std::size_t excerpt_characters = 300;   // of a chunk, and of the types of items
constexpr std::size_t name_characters = 100;      // of a provider
constexpr std::size_t excerpt_bytes = 64 * 1024;  // examined for an excerpt

bool is_passing(Errc code) noexcept {
  switch (code) {
    case Errc::connect_timeout:
    case Errc::first_byte_timeout:
    case Errc::stall_timeout:
    case Errc::total_timeout:
    case Errc::resolve_failed:
    case Errc::network_error:
      return true;
    default:
      return false;
  }
}

std::string_view trimmed(std::string_view text) noexcept {
  constexpr std::string_view space_mark = " \t\r\n";
  const auto first = text.find_first_not_of(space_mark);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(space_mark) - first + 1);
}

// The facts of a failed answer without an error object. A page for people has no words that count.
ApiError facts_of(std::string_view body) {
  const std::string_view text = trimmed(body);
  return {.message = text.starts_with('<') ? std::string() : core::valid_utf8(text.substr(0, excerpt_bytes))};
}

// The remedy for a status with one meaning everywhere; else empty. For a faulty request (400, 422) the
// server's own message has the reason.
std::string_view advice(int status, ErrorKind kind) noexcept {
  if (status >= 300 && status < 400)
    return "set HttpLlmOptions::base_url to the new address, if you trust it";
  if (kind == ErrorKind::account_exhausted) return "check the account at the provider";
  if (status >= 500) return "the server has failed; try again later";
  switch (status) {
    case 401:
      return "check the key: HttpLlmOptions::api_key, api_key_env or api_key_source";
    case 403:
      return "check the permissions of the key at the provider";
    case 404:
      return kind == ErrorKind::model_unknown
                 ? "check HttpLlmOptions::model"
                 : "check HttpLlmOptions::base_url: the path of the dialect is added to it";
    case 407:
      return "check HttpLlmOptions::proxy";
    case 408:
      return "send the message again";
    case 413:
      return "send a shorter request, e.g. with less history (ContextOptions)";
    case 429:
      return "make fewer calls at a time (CallLimits), or try again later";
    default:
      return "";
  }
}

std::string in_parentheses(std::string_view text) {
  return text.empty() ? std::string() : fmt::format(" ({})", text);
}

std::string asked_pause(std::chrono::milliseconds pause) {
  if (pause.count() <= 0) return {};
  return fmt::format(", and asks for a pause of {:g} s", std::chrono::duration<double>(pause).count());
}

}  // namespace

ChatError CallErrors::transfer(const net::HttpEnd& end) const {
  return make(end.code, end.message, end.status, is_passing(end.code));
}

ChatError CallErrors::status(int status, std::string_view body, const AnswerObject* object,
                             std::string_view note, const RetryHeaders& headers) const {
  const ApiError* const error = object && object->error ? &*object->error : nullptr;
  const ErrorClass found = classify(status, error != nullptr ? *error : facts_of(body), headers);
  const std::string text = error != nullptr ? message_of(*error) : excerpt(trimmed(body), message_characters);
  const std::string lead =
      fmt::format("HTTP {}{}{}{}{}: ", status, place_.empty() ? "" : " from ", place_,
                  asked_pause(headers.retry_after), note.empty() ? "" : fmt::format(", {}", note));
  return classified(make(error != nullptr ? Errc::api_error : Errc::http_error,
                         lead + (text.empty() ? "the answer has no text" : text), status, found.retryable,
                         provider_behind(error) + in_parentheses(advice(status, found.kind))),
                    found);
}

ChatError CallErrors::api(int status, const ApiError& error) const {
  const ErrorClass found = classify(status, error);
  const std::string_view account =
      found.kind == ErrorKind::account_exhausted ? "check the account at the provider" : "";
  return classified(make(Errc::api_error, message_of(error), status, found.retryable,
                         provider_behind(&error) + from(account, "the error inside the answer")),
                    found);
}

ChatError CallErrors::not_json(int status, std::string_view body) const {
  const std::string said =
      trimmed(body).empty() ? "The response is empty." : "Raw response: " + excerpt(body, raw_characters);
  const bool is_retryable = trimmed(body).empty() || trimmed(body).starts_with('{');
  return make(Errc::invalid_response, "Failed to parse API response as JSON. " + said, status, is_retryable,
              from("check HttpLlmOptions::base_url"));
}

ChatError CallErrors::no_answer(int status, std::string_view body) const {
  const std::string raw = excerpt(body, raw_characters);
  return make(Errc::invalid_response,
              "The API returned an empty response (no answer in it)." +
                  (trimmed(raw).empty() ? std::string() : " Raw response: " + raw),
              status, body == done_mark, from("check HttpLlmOptions::dialect"));
}

ChatError CallErrors::empty_answer(int status) const {
  return make(Errc::invalid_response,
              "The answer is empty, and ended for a reason that this client does not know: send the message "
              "again",
              status, true, from());
}

ChatError CallErrors::bad_chunk(int status, std::string_view chunk) const {
  return make(Errc::invalid_response,
              "A chunk of the stream is not a JSON object: " + excerpt(chunk, excerpt_characters), status,
              true, from("the server, or a proxy before it, is broken"));
}

ChatError CallErrors::other_message(int status) const {
  return make(Errc::invalid_response,
              "The stream began another message before the end of the current one (two ids). Two "
              "answers may have been mixed, perhaps by a proxy: send the message again",
              status, true, from());
}

ChatError CallErrors::no_usable_item(int status, std::string_view types) const {
  return make(
      Errc::invalid_response,
      fmt::format("The answer has no text and no call of a tool of the agent, but only: {}. This client "
                  "ignores such items; remove the tools that produce them from "
                  "HttpLlmOptions::extra_body",
                  excerpt(types, excerpt_characters)),
      status, false, from());
}

ChatError CallErrors::line_too_long(int status, std::size_t limit) const {
  return too_large(status, "A line of the stream is longer", limit, "max_line_bytes");
}

ChatError CallErrors::cut_short(int status) const {
  return make(
      Errc::network_error,
      "The stream was cut: it ended before the answer was complete (no finish reason). Send the "
      "message again; if this happens often, look for a time limit of the server or of a proxy before it",
      status, true, from());
}

ChatError CallErrors::answer_too_large(int status, std::size_t max_bytes) const {
  return too_large(status, "The answer is larger", max_bytes, "max_response_bytes");
}

ChatError CallErrors::reasoning_too_large(int status, std::size_t max_bytes) const {
  return too_large(status, "The reasoning of the answer is larger", max_bytes, "max_response_bytes");
}

ChatError CallErrors::tool_calls(int status, ToolCallFault fault, std::size_t max_bytes) const {
  switch (fault) {
    case ToolCallFault::too_large:
      return too_large(status, "The tool calls of the answer are larger", max_bytes, "max_response_bytes");
    case ToolCallFault::too_many:
      return make(Errc::invalid_response,
                  fmt::format("The answer has more than {} tool calls", max_tool_calls), status, false,
                  from("try another model"));
    case ToolCallFault::bad_index:
      return make(Errc::invalid_response,
                  fmt::format("A tool call has an index that is not 0 to {}", max_tool_calls - 1), status,
                  false, from("try another model or server"));
    default:
      return make(Errc::invalid_response, "A tool call has no name", status, true,
                  from("try another model or server"));
  }
}

// `what`: "... is longer", or "... is larger". `option`: the member of HttpLlmOptions that sets the limit.
ChatError CallErrors::too_large(int status, std::string_view what, std::size_t limit,
                                std::string_view option) const {
  return make(Errc::response_too_large,
              fmt::format("{} than {} bytes; if the server can be trusted, raise HttpLlmOptions::{}", what,
                          limit, option),
              status, false, from());
}

// Secrets are removed first: an escape within one would hide it from the redactor.
std::string CallErrors::shown(std::string_view received) const {
  return display(redact_(core::valid_utf8(received)));
}

// If a message is too long, the end of `message` is cut, not `tail`, which has the advice.
ChatError CallErrors::make(Errc code, std::string_view message, int status, bool retryable,
                           std::string_view tail) const {
  const std::string last = shown(tail);
  const std::size_t room = message_characters - std::min(message_characters / 2, last.size());
  const std::string text = shown(message);
  return {.code = code,
          .message = std::string(core::first_characters(text, room)) + last,
          .http_status = status,
          .retryable = retryable};
}

// The code stays what it is, but for an account that is used up: waiting is the remedy of no such error.
ChatError CallErrors::classified(ChatError error, const ErrorClass& found) {
  if (found.kind == ErrorKind::account_exhausted) error.code = Errc::account_exhausted;
  error.model_specific = found.model_specific;
  error.retry_after = found.retry_after;
  return error;
}

// " (WHAT came from PLACE; ADVICE)"; empty where the place is not known.
std::string CallErrors::from(std::string_view advice, std::string_view what) const {
  if (place_.empty()) return {};
  return fmt::format(" ({} came from {}{}{})", what, place_, advice.empty() ? "" : "; ", advice);
}

// The server's message. For a gateway, also the message of the provider behind it.
std::string CallErrors::message_of(const ApiError& error) const {
  if (error.raw.empty()) return error.message;
  return fmt::format("{}: {}", error.message, excerpt(trimmed(error.raw), message_characters));
}

// The provider whose message a gateway repeats.
std::string CallErrors::provider_behind(const ApiError* error) const {
  if (error == nullptr || error->raw.empty() || error->provider.empty()) return {};
  return in_parentheses("from " + excerpt(error->provider, name_characters));
}

// Secrets are removed before the text is cut: half a key must not be visible either.
std::string CallErrors::excerpt(std::string_view raw, std::size_t characters) const {
  const std::string text = shown(raw.substr(0, excerpt_bytes));
  const std::string_view shown = core::first_characters(text, characters);
  return std::string(shown) + (shown.size() < text.size() ? "..." : "");
}

}  // namespace agentcore::detail::llm
