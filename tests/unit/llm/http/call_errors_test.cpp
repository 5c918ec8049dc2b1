// The errors of a client, word for word: what happened, where, and what to change.
#include "llm/http/call_errors.hpp"

#include "support/catch.hpp"

#include <agentcore/display.hpp>

#include <chrono>
#include <string>

using namespace agentcore;
using namespace agentcore::detail::llm;
using namespace std::chrono_literals;

namespace {

const std::string place = "https://api.test:443/v1/chat/completions";
const std::string key = "sk-very-secret";

CallErrors errors() {
  Redactor redactor;
  redactor.hide(key, "api key");
  return CallErrors(redactor, place);
}

std::string refused(int status, std::string_view words, ApiError error = {}, std::string_view note = "",
                    std::chrono::milliseconds pause = 0ms) {
  error.message = words;
  AnswerObject object;
  object.error = error;
  return errors().status(status, "", &object, note, {.retry_after = pause}).message;
}

std::string from(std::string_view advice) {
  return " (the answer came from " + place + std::string(advice) + ")";
}

}  // namespace

TEST_CASE("an HTTP error names its endpoint and what to change", "[llm][O6]") {
  const std::string lead = " from " + place;
  CHECK(refused(400, "No such parameter.") == "HTTP 400" + lead + ": No such parameter.");
  CHECK(refused(401, "bad " + key) ==
        "HTTP 401" + lead +
            ": bad [api key] (check the key: HttpLlmOptions::api_key, api_key_env or api_key_source)");
  CHECK(refused(402, "no money") == "HTTP 402" + lead + ": no money (check the account at the provider)");
  CHECK(refused(403, "no") == "HTTP 403" + lead + ": no (check the permissions of the key at the provider)");
  CHECK(refused(404, "no such path") ==
        "HTTP 404" + lead +
            ": no such path (check HttpLlmOptions::base_url: the path of the dialect is added to it)");
  CHECK(refused(404, "The model m does not exist") ==
        "HTTP 404" + lead + ": The model m does not exist (check HttpLlmOptions::model)");
  CHECK(refused(413, "too much") ==
        "HTTP 413" + lead + ": too much (send a shorter request, e.g. with less history (ContextOptions))");
  CHECK(refused(429, "slow down", {}, "", 1500ms) ==
        "HTTP 429" + lead +
            ", and asks for a pause of 1.5 s: slow down (make fewer calls at a time (CallLimits), or try "
            "again later)");
  CHECK(refused(429, "quota", {.codes = {"insufficient_quota"}}) ==
        "HTTP 429" + lead + ": quota (check the account at the provider)");
  CHECK(refused(503, "busy") == "HTTP 503" + lead + ": busy (the server has failed; try again later)");
  CHECK(errors().status(500, " \n", nullptr, "", {}).message ==
        "HTTP 500" + lead + ": the answer has no text (the server has failed; try again later)");
  CHECK(errors()
            .status(302, "", nullptr, "the redirect to https://b.test:443/ was not followed: why", {})
            .message ==
        "HTTP 302" + lead +
            ", the redirect to https://b.test:443/ was not followed: why: the answer has no text (set "
            "HttpLlmOptions::base_url to the new address, if you trust it)");
}

TEST_CASE("the error of an unreadable answer names its endpoint", "[llm][O5][O6]") {
  const std::string empty = "Failed to parse API response as JSON. The response is empty." +
                            from("; check HttpLlmOptions::base_url");
  CHECK(errors().not_json(200, "").message == empty);
  CHECK(errors().not_json(200, " \r\n").message == empty);
  CHECK(errors().not_json(200, "<p>").message ==
        "Failed to parse API response as JSON. Raw response: <p>" + from("; check HttpLlmOptions::base_url"));
  CHECK(errors().no_answer(200, "{}").message ==
        "The API returned an empty response (no answer in it). Raw response: {}" +
            from("; check HttpLlmOptions::dialect"));
  CHECK(errors().no_answer(200, "").message ==
        "The API returned an empty response (no answer in it)." + from("; check HttpLlmOptions::dialect"));
  CHECK(errors().bad_chunk(200, "<oops>").message ==
        "A chunk of the stream is not a JSON object: <oops>" +
            from("; the server, or a proxy before it, is broken"));
  CHECK(errors().api(200, {.message = "overloaded"}).message ==
        "overloaded (the error inside the answer came from " + place + ")");
  CHECK(errors().cut_short(200).message ==
        "The stream was cut: it ended before the answer was complete (no finish reason). Send the message "
        "again; if this happens often, look for a time limit of the server or of a proxy before it" +
            from(""));
}

TEST_CASE("the error of a too large answer or invalid tool calls says what to change", "[llm][G15]") {
  const std::string trust = " bytes; if the server can be trusted, raise HttpLlmOptions::";
  CHECK(errors().line_too_long(200, 7).message ==
        "A line of the stream is longer than 7" + trust + "max_line_bytes" + from(""));
  CHECK(errors().answer_too_large(200, 7).message ==
        "The answer is larger than 7" + trust + "max_response_bytes" + from(""));
  CHECK(errors().reasoning_too_large(200, 7).message ==
        "The reasoning of the answer is larger than 7" + trust + "max_response_bytes" + from(""));
  CHECK(errors().tool_calls(200, ToolCallFault::too_large, 7).message ==
        "The tool calls of the answer are larger than 7" + trust + "max_response_bytes" + from(""));
  CHECK(errors().tool_calls(200, ToolCallFault::too_many, 7).message ==
        "The answer has more than " + std::to_string(max_tool_calls) + " tool calls" +
            from("; try another model"));
  CHECK(errors().tool_calls(200, ToolCallFault::bad_index, 7).message ==
        "A tool call has an index that is not 0 to " + std::to_string(max_tool_calls - 1) +
            from("; try another model or server"));
  CHECK(errors().tool_calls(200, ToolCallFault::no_name, 7).message ==
        "A tool call has no name" + from("; try another model or server"));
}

TEST_CASE("a long error message keeps its end with the advice", "[llm][G15]") {
  const std::string message = refused(401, std::string(5000, 'x'));
  CHECK(message.size() <= 1000);
  CHECK(message.ends_with("x (check the key: HttpLlmOptions::api_key, api_key_env or api_key_source)"));
}

TEST_CASE("the body of an error that is not understood is shown whole", "[llm][G15]") {
  const auto shown = [](int status, const std::string& body) {
    return errors().status(status, body, nullptr, "", {}).message;
  };
  const std::string lead = "HTTP 400 from " + place + ": ";
  const std::string page = "<h1>" + std::string(900 - 4, 'x');
  CHECK(shown(400, page) == lead + page);
  CHECK(shown(400, std::string(100'000, 'x')).size() == 1000);
  const std::string late = std::string(900, 'x') + key;  // the end is cut, and no key begins there
  CHECK(shown(400, late).find("sk-") == std::string::npos);
  CHECK(shown(502, std::string(5000, 'x')).ends_with("x (the server has failed; try again later)"));
}

TEST_CASE("a key in the path of a URL is in no error", "[llm][O5]") {
  Redactor redactor;
  redactor.hide(key, "api key");
  const CallErrors secret(redactor, "https://api.test:443/" + key + "/chat");
  CHECK(secret.not_json(200, "").message.find(key) == std::string::npos);
  CHECK(secret.status(500, "", nullptr, "", {}).message.find(key) == std::string::npos);
}

TEST_CASE("no error text can control a terminal or reorder what a person reads", "[llm][security]") {
  const std::string nul(1, '\0');
  const std::string foul = "\x1b]0;owned\a\xe2\x80\xae" + nul +
                           "\r\xc2\x9b"
                           "2J\xff";
  const std::string safe = "\\u001b]0;owned\\u0007\\u202e\\u0000\\u000d\\u009b2J\xef\xbf\xbd";
  ApiError error;
  error.message = foul;
  error.raw = foul;
  error.provider = foul;
  const std::string messages[] = {refused(400, foul),
                                  refused(500, "", error, foul),
                                  errors().status(502, foul, nullptr, foul, {}).message,
                                  errors().api(200, error).message,
                                  errors().not_json(200, foul).message,
                                  errors().no_answer(200, foul).message,
                                  errors().bad_chunk(200, foul).message,
                                  errors().no_usable_item(200, foul).message,
                                  errors().transfer({Errc::network_error, foul, 0}).message};
  for (const std::string& message : messages) {
    CAPTURE(message);
    CHECK(message == display(message));
    CHECK(message.find(safe) != std::string::npos);
  }
}

TEST_CASE("an escape does not hide a secret from its removal", "[llm][secrets][security]") {
  CHECK(errors().not_json(200, "\x1b" + key + "\x1b").message.find(key) == std::string::npos);
}
