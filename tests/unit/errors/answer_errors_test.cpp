// Errors of answers of a server. They are built by the functions that build them for a real answer.
#include "llm/http/call_errors.hpp"
#include "unit/errors/error_rows.hpp"

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

const std::string place = "https://api.test:443/v1/chat/completions";

CallErrors errors() {
  return CallErrors(Redactor(), place);
}

// An error body with the message "no".
Error refused(int status, ApiError error = {}, std::chrono::milliseconds pause = 0ms) {
  if (error.message.empty()) error.message = "no";
  AnswerObject object;
  object.error = error;
  return errors().status(status, "", &object, "", {.retry_after = pause});
}

std::string from(std::string_view advice = {}) {
  return " (the answer came from " + place + std::string(advice) + ")";
}

void add_statuses(ErrorRows& rows) {
  const auto add = [&rows](int status, Error error, std::string rest) {
    rows.push_back({"HTTP " + std::to_string(status), std::move(error), Errc::api_error,
                    "HTTP " + std::to_string(status) + " from " + place + rest});
  };
  add(400, refused(400), ": no");
  add(401, refused(401), ": no (check the key: HttpLlmOptions::api_key, api_key_env or api_key_source)");
  add(403, refused(403), ": no (check the permissions of the key at the provider)");
  add(404, refused(404), ": no (check HttpLlmOptions::base_url: the path of the dialect is added to it)");
  add(404, refused(404, {.message = "no such model"}), ": no such model (check HttpLlmOptions::model)");
  add(407, refused(407), ": no (check HttpLlmOptions::proxy)");
  add(408, refused(408), ": no (send the message again)");
  add(413, refused(413), ": no (send a shorter request, e.g. with less history (ContextOptions))");
  add(429, refused(429), ": no (make fewer calls at a time (CallLimits), or try again later)");
  add(429, refused(429, {}, 1500ms),
      ", and asks for a pause of 1.5 s: no (make fewer calls at a time (CallLimits), or try again later)");
  add(503, refused(503), ": no (the server has failed; try again later)");
  add(502, refused(502, {.message = "no", .raw = "{}", .provider = "p"}),
      ": no: {} (from p) (the server has failed; try again later)");
}

void add_account(ErrorRows& rows) {
  const auto add = [&rows](std::string cause, Error error, std::string text) {
    rows.push_back({std::move(cause), std::move(error), Errc::account_exhausted, std::move(text)});
  };
  const std::string rest = " from " + place + ": no (check the account at the provider)";
  add("HTTP 402", refused(402), "HTTP 402" + rest);
  add("HTTP 429 of a used-up account", refused(429, {.message = "no", .codes = {"insufficient_quota"}}),
      "HTTP 429" + rest);
  add("a used-up account in an answer", errors().api(200, {.message = "no", .codes = {"insufficient_quota"}}),
      "no (the error inside the answer came from " + place + "; check the account at the provider)");
}

void add_bodies(ErrorRows& rows) {
  rows.push_back({"HTTP 500 without an error body", errors().status(500, "<p>", nullptr, "", {}),
                  Errc::http_error,
                  "HTTP 500 from " + place + ": <p> (the server has failed; try again later)"});
  rows.push_back(
      {"HTTP 500 without a body", errors().status(500, "", nullptr, "", {}), Errc::http_error,
       "HTTP 500 from " + place + ": the answer has no text (the server has failed; try again later)"});
  rows.push_back({"a redirect", errors().status(302, "", nullptr, "the redirect was not followed: why", {}),
                  Errc::http_error,
                  "HTTP 302 from " + place +
                      ", the redirect was not followed: why: the answer has no text (set "
                      "HttpLlmOptions::base_url to the new address, if you trust it)"});
  rows.push_back({"an error body with a good status", errors().api(200, {.message = "no"}), Errc::api_error,
                  "no (the error inside the answer came from " + place + ")"});
}

void add_unreadable(ErrorRows& rows) {
  const auto add = [&rows](std::string cause, Error error, std::string text) {
    rows.push_back({std::move(cause), std::move(error), Errc::invalid_response, std::move(text)});
  };
  add("an empty answer", errors().not_json(200, ""),
      "Failed to parse API response as JSON. The response is empty." +
          from("; check HttpLlmOptions::base_url"));
  add("an answer that is not JSON", errors().not_json(200, "<p>"),
      "Failed to parse API response as JSON. Raw response: <p>" + from("; check HttpLlmOptions::base_url"));
  add("JSON without an answer", errors().no_answer(200, "{}"),
      "The API returned an empty response (no answer in it). Raw response: {}" +
          from("; check HttpLlmOptions::dialect"));
  add("an empty answer with an unknown end", errors().empty_answer(200),
      "The answer is empty, and ended for a reason that this client does not know: send the message again" +
          from());
  add("an unknown item", errors().no_usable_item(200, "web_search_call"),
      "The answer has no text and no call of a tool of the agent, but only: web_search_call. This client "
      "ignores such items; remove the tools that produce them from HttpLlmOptions::extra_body" +
          from());
  add("a chunk that is not JSON", errors().bad_chunk(200, "<oops>"),
      "A chunk of the stream is not a JSON object: <oops>" +
          from("; the server, or a proxy before it, is broken"));
  add("a second message", errors().other_message(200),
      "The stream began another message before the end of the current one (two ids). Two answers may have "
      "been mixed, perhaps by a proxy: send the message again" +
          from());
  add("too many tool calls", errors().tool_calls(200, ToolCallFault::too_many, 7),
      "The answer has more than 64 tool calls" + from("; try another model"));
  add("a tool call with a bad index", errors().tool_calls(200, ToolCallFault::bad_index, 7),
      "A tool call has an index that is not 0 to 63" + from("; try another model or server"));
  add("a tool call without a name", errors().tool_calls(200, ToolCallFault::no_name, 7),
      "A tool call has no name" + from("; try another model or server"));
}

void add_too_large(ErrorRows& rows) {
  const auto add = [&rows](Error error, std::string begin, std::string option) {
    rows.push_back(
        {option, std::move(error), Errc::response_too_large,
         begin + " than 7 bytes; if the server can be trusted, raise HttpLlmOptions::" + option + from()});
  };
  add(errors().line_too_long(200, 7), "A line of the stream is longer", "max_line_bytes");
  add(errors().reasoning_too_large(200, 7), "The reasoning of the answer is larger", "max_response_bytes");
  add(errors().answer_too_large(200, 7), "The answer is larger", "max_response_bytes");
  add(errors().tool_calls(200, ToolCallFault::too_large, 7), "The tool calls of the answer are larger",
      "max_response_bytes");
}

}  // namespace

ErrorRows test::http_answer_errors() {
  ErrorRows rows;
  add_statuses(rows);
  add_account(rows);
  add_bodies(rows);
  add_unreadable(rows);
  add_too_large(rows);
  rows.push_back({"a stream without an end", errors().cut_short(200), Errc::network_error,
                  "The stream was cut: it ended before the answer was complete (no finish reason). Send the "
                  "message again; if this happens often, look for a time limit of the server or of a proxy "
                  "before it" +
                      from()});
  return rows;
}

TEST_CASE("every error of an answer over HTTP has its text", "[errors][llm]") {
  check(http_answer_errors());
}
