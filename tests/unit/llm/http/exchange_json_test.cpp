// Exchanges as lines of JSON, and what is no such line.
#include "llm/http/base64.hpp"
#include "support/catch.hpp"

#include <agentcore/http_recording.hpp>

#include <filesystem>
#include <string>
#include <utility>

#include <unistd.h>

using namespace agentcore;

namespace {

std::string refusal(std::string_view line) {
  const auto exchange = exchange_from_json_line(line);
  if (exchange) return "";
  CHECK(exchange.error().code == Errc::invalid_recording);
  return exchange.error().message;
}

HttpExchange sample() {
  HttpExchange exchange;
  exchange.url = "https://h/v1/chat/completions";
  exchange.request_headers = {"Authorization: [removed]"};
  exchange.request_body = "{\"a\":\n1}";
  exchange.status = 200;
  exchange.content_type = "text/event-stream";
  exchange.headers = {"retry-after: 7"};
  exchange.body = {{Duration(5), "data: \xC3"}, {Duration(9), "\xBC\n\n"}};
  exchange.end = Errc::stall_timeout;
  exchange.end_message = "silence";
  exchange.ended_at = Duration(11);
  return exchange;
}

}  // namespace

TEST_CASE("base64 follows RFC 4648", "[llm][recording]") {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"},
                                                         {"\xFB\xFF", "+/8="}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(detail::llm::to_base64(bytes) == text);
    CHECK(detail::llm::from_base64(text) == std::string(bytes));
  }
  for (const char* bad : {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "====", "Zm9-", "Zm 9", "=Zm9"})
    CHECK_FALSE(detail::llm::from_base64(bad));
}

TEST_CASE("an exchange survives being written and read", "[llm][recording]") {
  const std::string line = to_json_line(sample());
  CHECK(line.find('\n') == std::string::npos);
  const auto read = exchange_from_json_line(line);
  REQUIRE(read);
  CHECK(*read == sample());
}

TEST_CASE("the format of a line stays as it is", "[llm][recording]") {
  HttpExchange exchange = sample();
  exchange.end = Errc::none;
  CHECK(to_json_line(exchange) ==
        R"({"method":"POST","url":"https://h/v1/chat/completions",)"
        R"("request_headers":["Authorization: [removed]"],"request_body":"{\"a\":\n1}","status":200,)"
        R"("content_type":"text/event-stream","headers":["retry-after: 7"],)"
        R"("body":[{"at_ns":5,"bytes":{"base64":"ZGF0YTogww=="}},{"at_ns":9,"bytes":{"base64":"vAoK"}}],)"
        R"("end":"complete","end_message":"silence","ended_at_ns":11})");
}

TEST_CASE("a hand-written line needs only a URL", "[llm][recording]") {
  const auto read = exchange_from_json_line(R"({"url":"/v1","new":{"later":1}})");
  REQUIRE(read);
  HttpExchange expected;
  expected.url = "/v1";
  CHECK(*read == expected);
}

TEST_CASE("an invalid line is refused with the reason", "[llm][recording][G15]") {
  CHECK(refusal("") == "the text is not valid JSON at byte 1");
  CHECK(refusal("[]") == "the text is not a JSON object");
  CHECK(refusal("{}") == "url is missing");
  CHECK(refusal(R"({"url":7})") == R"(url is neither a string nor {"base64": a string})");
  CHECK(refusal(R"({"url":{"base64":"%"}})") == "url is not in base64");
  CHECK(refusal(R"({"url":"","request_sent":0})") == "request_sent is neither true nor false");
  CHECK(refusal(R"({"url":"","status":"200"})").starts_with("status is not an integer from 0 to"));
  CHECK(refusal(R"({"url":"","status":-1})").starts_with("status is not"));
  CHECK(refusal(R"({"url":"","status":1e999})") == "the text is not valid JSON: a number is out of range");
  CHECK(refusal(R"({"url":"","headers":{}})") == "headers is not an array");
  CHECK(refusal(R"({"url":"","body":[7]})") == "body, piece 1: is not an object");
  CHECK(refusal(R"({"url":"","body":[{},{"at_ns":-1}]})").starts_with("body, piece 2: at_ns is not"));
  CHECK(refusal(R"({"url":"","end":"unknown"})").starts_with("end is neither"));
  CHECK(refusal(std::string(100, '[')) == "the text is nested deeper than 64 levels");
}

TEST_CASE("an invalid recording names its wrong line", "[llm][recording]") {
  const std::string line = to_json_line(sample());
  const auto replay = HttpReplay::from_text(line + "\r\n\n \n" + line, HttpReplay::Pace::as_recorded);
  REQUIRE(replay);
  CHECK((*replay)->exchanges() == std::vector<HttpExchange>{sample(), sample()});
  CHECK((*replay)->pace() == HttpReplay::Pace::as_recorded);
  const auto bad = HttpReplay::from_text(line + "\n\n{}\n");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().code == Errc::invalid_recording);
  CHECK(bad.error().message == "line 3: url is missing");
}

TEST_CASE("a recording is kept in a file", "[llm][recording]") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("agentcore-recording-" + std::to_string(::getpid()) + ".jsonl");
  for (int i = 0; i < 2; ++i) {
    const auto recorder = HttpRecorder::to_file(path.string());
    REQUIRE(recorder);
    (*recorder)->add(sample());
    const auto replay = HttpReplay::from_file(path.string());  // while it is still open
    REQUIRE(replay);
    CHECK((*replay)->exchanges().size() == static_cast<std::size_t>(i + 1));
  }
  std::filesystem::remove(path);
  for (const auto& error :
       {HttpReplay::from_file(path.string()).error(), HttpRecorder::to_file("/no/such/folder/x").error()}) {
    CHECK(error.code == Errc::invalid_recording);
    CHECK(error.message.starts_with("cannot open /"));
  }
}
