// Options that make no sense are refused with words that help.
#include "llm/http/config.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace agentcore;
using namespace agentcore::llm;

namespace {

HttpLlmOptions good() {
  HttpLlmOptions options;
  options.base_url = "https://api.example.com/v1";
  options.api_key = "sk-secret-123";
  options.model = "m";
  return options;
}

std::string refusal(const HttpLlmOptions& options) {
  const auto error = check_options(options);
  if (!error) return "";
  CHECK(error->code == Errc::invalid_config);
  CHECK_FALSE(error->retryable);
  return error->message;
}

bool mentions(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("good options pass", "[llm]") {
  HttpLlmOptions options = good();
  for (const char* url :
       {"http://localhost:8080", "HTTPS://Api.Example.com/v1/", "http://[::1]:9/v1", "http://h/v1?a=b"}) {
    options.base_url = url;
    CHECK(refusal(options).empty());
  }
}

TEST_CASE("a bad base_url is refused without showing it", "[llm]") {
  HttpLlmOptions options = good();
  for (const char* url :
       {"", "api.example.com/v1", "ftp://h/v1", "http://", "http:///v1", "http://:80/v1", "https:/h/v1",
        "http://h /v1", "http://h/v1\n", "http://me:pass@h/v1", "http://h/v1#x"}) {
    INFO(url);
    options.base_url = url;
    CHECK(mentions(refusal(options), "base_url"));
    CHECK_FALSE(mentions(refusal(options), "pass@"));
  }
}

TEST_CASE("each bad option is named", "[llm]") {
  HttpLlmOptions options = good();
  options.api_key = "sk-secret-123\n";
  CHECK(mentions(refusal(options), "api_key"));
  CHECK_FALSE(mentions(refusal(options), "secret"));
  options = good();
  for (const char* header : {"X", ": x", "X Y: x", "X: a\r\nEvil: b"}) {
    options.headers = {header};
    CHECK(mentions(refusal(options), "headers"));
  }
  options = good();
  options.connect_timeout = Duration(0);
  CHECK(mentions(refusal(options), "connect_timeout"));
  options = good();
  options.stall_timeout = Duration(-1);
  CHECK(mentions(refusal(options), "stall_timeout"));
  options = good();
  options.max_line_bytes = 0;
  CHECK(mentions(refusal(options), "max_line_bytes"));
}

TEST_CASE("a request needs a model and a possible temperature", "[llm]") {
  ChatRequest request;
  CHECK_FALSE(check_request(request, "m"));
  CHECK(mentions(check_request(request, "")->message, "model"));
  for (const double bad : {-0.1, 2.1, std::numeric_limits<double>::quiet_NaN()}) {
    request.temperature = bad;
    CHECK(mentions(check_request(request, "m")->message, "temperature"));
  }
}

TEST_CASE("a request goes to chat/completions below base_url", "[llm][O1]") {
  HttpLlmOptions options = good();
  CHECK(request_template(options).url == "https://api.example.com/v1/chat/completions");
  options.base_url = "http://h/v1//";
  CHECK(request_template(options).url == "http://h/v1/chat/completions");
  options.base_url = "http://h/d?api-version=7";
  CHECK(request_template(options).url == "http://h/d/chat/completions?api-version=7");
}

TEST_CASE("the key is sent, if there is one", "[llm][O7]") {
  HttpLlmOptions options = good();
  options.headers = {"X-Title: demo"};
  CHECK(request_template(options).headers == std::vector<std::string>{"Content-Type: application/json",
                                                                      "Authorization: Bearer sk-secret-123",
                                                                      "X-Title: demo"});
  options.api_key.clear();
  CHECK(request_template(options).headers.size() == 2);
}

TEST_CASE("secrets do not show", "[llm]") {
  HttpLlmOptions options = good();
  options.headers = {"X-Api-Key:  abc", "Cookie: yum", "X-Title: demo"};
  const Redactor redact = redactor_for(options);
  CHECK(redact("bad key sk-secret-123, sk-secret-123!") == "bad key [api key], [api key]!");
  CHECK(redact("abc yum demo") == "[secret] [secret] demo");
  CHECK(Redactor()("abc") == "abc");
}
