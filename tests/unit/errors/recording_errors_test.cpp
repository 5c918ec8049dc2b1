// Errors of recordings, and of calls that are answered from one.
#include "support/observe/chat_record.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

using namespace agentcore;
using namespace agentcore::test;

namespace {

void add_line(ErrorRows& rows, const std::string& line, std::string text) {
  rows.push_back(
      {line.substr(0, 100), exchange_from_json_line(line).error(), Errc::invalid_recording, std::move(text)});
}

void add_lines(ErrorRows& rows) {
  add_line(rows, "", "the text is not valid JSON at byte 1");
  add_line(rows, R"({"url":"","status":1e999})", "the text is not valid JSON: a number is out of range");
  add_line(rows, std::string(100, '['), "the text is nested deeper than 64 levels");
  add_line(rows, "[]", "the text is not a JSON object");
  add_line(rows, "{}", "url is missing");
  add_line(rows, R"({"url":1})", R"(url is neither a string nor {"base64": a string})");
  add_line(rows, R"({"url":{"base64":"?"}})", "url is not in base64");
  add_line(rows, R"({"url":"","headers":1})", "headers is not an array");
  add_line(rows, R"({"url":"","body":[1]})", "body, piece 1: is not an object");
  add_line(rows, R"({"url":"","body":[{"at_ns":-1}]})",
           "body, piece 1: at_ns is not an integer from 0 to 9223372036854775807");
  add_line(rows, R"({"url":"","status":-1})", "status is not an integer from 0 to 2147483647");
  add_line(rows, R"({"url":"","end":"x"})", "end is neither complete nor the name of an Errc");
  add_line(rows, R"({"url":"","request_sent":1})", "request_sent is neither true nor false");
}

void add_files(ErrorRows& rows) {
  const std::string path = "/no/such/folder/calls.jsonl";
  const std::string text = "cannot open " + path + ": No such file or directory";
  rows.push_back({"to_file()", HttpRecorder::to_file(path).error(), Errc::invalid_recording, text});
  rows.push_back({"from_file()", HttpReplay::from_file(path).error(), Errc::invalid_recording, text});
  rows.push_back({"from_text()", HttpReplay::from_text("{\"url\":\"\"}\n\n{}\n").error(),
                  Errc::invalid_recording, "line 3: url is missing"});
}

// The error of a call that is answered with `exchanges`.
Error error_of_replay(std::vector<HttpExchange> exchanges) {
  testing::ManualClock clock;
  Runtime runtime({.clock = &clock});
  HttpLlmOptions options;
  options.base_url = "https://api.test/v1";
  options.model = "m";
  options.max_response_bytes = 7;
  options.replay = std::make_shared<HttpReplay>(std::move(exchanges));
  HttpLlmClient client(runtime, options);
  ChatRecord heard;
  client.chat(ask("a"), {}, heard.sink());
  CHECK(runtime.run_until_idle());
  return heard.error();
}

void add_replays(ErrorRows& rows) {
  rows.push_back({"a request without an exchange", error_of_replay({}), Errc::invalid_recording,
                  "The recording has no exchange left for POST /v1/chat/completions. Record the exchange, or "
                  "check which requests the program sends."});
  HttpExchange exchange;
  exchange.url = "https://api.test/v1/chat/completions";
  exchange.status = 200;
  exchange.content_type = "application/json";
  exchange.body = {{Duration(0), std::string(256 * 7 + 1, ' ')}};
  rows.push_back(
      {"a replayed answer that is too large", error_of_replay({exchange}), Errc::response_too_large,
       "The replayed answer is larger than 1792 bytes; raise HttpLlmOptions::max_response_bytes."});
  exchange.body.clear();
  exchange.end = Errc::network_error;
  exchange.end_message = "what was recorded";
  rows.push_back({"a recorded error", error_of_replay({exchange}), Errc::network_error, "what was recorded"});
}

}  // namespace

ErrorRows test::recording_errors() {
  ErrorRows rows;
  add_lines(rows);
  add_files(rows);
  add_replays(rows);
  rows.push_back({"a recorder without a function", thrown_by([] { HttpRecorder recorder({}); }), Errc::none,
                  "HttpRecorder: write is empty; pass a function to call"});
  return rows;
}

TEST_CASE("every error of a recording has its text", "[errors][recording]") {
  check(recording_errors());
}
