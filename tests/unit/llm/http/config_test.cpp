// Options that make no sense are refused with words that help.
#include "llm/http/config.hpp"

#include "support/catch.hpp"

#include <agentcore/provider.hpp>
#include <agentcore/version.hpp>

#include <chrono>
#include <cstdlib>
#include <limits>

using namespace agentcore;
using namespace agentcore::detail::llm;

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
  return error->message;
}

// A variable of the environment, for as long as this lives.
struct Environment {
  Environment(const char* variable, const char* value) : name(variable) { ::setenv(name, value, 1); }
  ~Environment() { ::unsetenv(name); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  const char* name;
};

bool mentions(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("valid options are accepted", "[llm]") {
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
  for (const char* header : {"x agent", "x-agent: a", "x-agent\r\n"}) {
    options.agent_header = header;
    CHECK(mentions(refusal(options), "agent_header"));
  }
  options = good();
  options.agent_header = "x-agent-id";
  CHECK(refusal(options).empty());
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

TEST_CASE("a request needs a model and a valid temperature", "[llm]") {
  ChatRequest request;
  CHECK_FALSE(check_request(request, "m"));
  CHECK(mentions(check_request(request, "")->message, "model"));
  for (const double bad : {-0.1, 2.1, std::numeric_limits<double>::quiet_NaN()}) {
    request.temperature = bad;
    CHECK(mentions(check_request(request, "m")->message, "temperature"));
  }
  request.temperature.reset();
  request.top_p = 1.5;
  CHECK(mentions(check_request(request, "m")->message, "top_p"));
}

TEST_CASE("a request for an answer of 0 tokens is refused", "[llm]") {
  ChatRequest request;
  request.max_tokens = 0;
  const auto problem = check_request(request, "m");
  REQUIRE(problem);
  CHECK(problem->code == Errc::invalid_config);
  CHECK(problem->message == "ChatRequest::max_tokens is 0; it must be at least 1");
  request.max_tokens = 1;
  CHECK_FALSE(check_request(request, "m"));
}

TEST_CASE("a request that ends with an empty question is refused in every dialect", "[llm]") {
  ChatRequest request;
  request.messages = {ChatMessage::user(""), ChatMessage::assistant(""), ChatMessage::user("text")};
  CHECK_FALSE(check_request(request, "m"));  // only what is asked now counts
  for (const char* const text : {"", " \n"}) {
    request.messages.back() = ChatMessage::user(text);
    const auto problem = check_request(request, "m");
    REQUIRE(problem);
    CHECK(problem->code == Errc::empty_message);
    CHECK(mentions(problem->message, "ChatRequest::messages"));
    request.messages.back().append(std::vector<ContentPart>{{.url = "https://a/b.png"}});
    CHECK_FALSE(check_request(request, "m"));
    request.messages.back() = ChatMessage::tool_result({}, text);  // a tool may have nothing to say
    CHECK_FALSE(check_request(request, "m"));
  }
}

TEST_CASE("a request with a broken answer schema is refused", "[llm]") {
  ChatRequest request;
  for (const char* bad :
       {"", " ", "{}", "{ }", "[]", "null", "\"x\"", "{\"a\":}", "{\"a\":1} x", "{\"a\":\"\xff\"}"}) {
    INFO(bad);
    request.response_format = {ResponseFormat::Kind::json_schema, "", bad};
    const auto error = check_request(request, "m");
    REQUIRE(error);
    CHECK(mentions(error->message, "response_format.schema"));
    request.response_format.kind = ResponseFormat::Kind::json_object;
    CHECK_FALSE(check_request(request, "m"));
  }
  request.response_format = {ResponseFormat::Kind::json_schema, "", R"( {"type":"object"} )"};
  CHECK_FALSE(check_request(request, "m"));
}

TEST_CASE("a request with broken tool parameters is refused", "[llm][tools]") {
  ChatRequest request;
  for (const char* good : {"", "{}", R"({"type":"object","properties":{}})"}) {
    request.tools = {{"look", "", good}};
    CHECK_FALSE(check_request(request, "m"));
  }
  for (const char* bad : {"[]", "{", "x"}) {
    request.tools = {{"look", "", bad}};
    const auto error = check_request(request, "m");
    REQUIRE(error);
    CHECK(mentions(error->message, "\"look\""));
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

TEST_CASE("a server is named by its host and a non-default port", "[llm][reasoning]") {
  for (const char* url :
       {"https://api.example.com", "https://api.example.com/v1", "HTTPS://API.Example.Com:443/v1",
        "https://api.example.com:/", "http://api.example.com:80", "https://api.example.com?key=k@b:7",
        "https://api.example.com/v1@x:8000", "https://me:secret@api.example.com/v1"})
    CHECK(server_of(url) == "api.example.com");
  CHECK(server_of("http://127.0.0.1:8000/v1") == "127.0.0.1:8000");
  CHECK(server_of("http://api.example.com:443") == "api.example.com:443");
  CHECK(server_of("https://api.example.com:80") == "api.example.com:80");
  CHECK(server_of("http://[::1]/v1") == "[::1]");
  CHECK(server_of("http://[::A]:8080/v1") == "[::a]:8080");
  CHECK(server_of("").empty());
  CHECK(server_of("api.example.com").empty());
}

TEST_CASE("only one source of the key may be set", "[llm]") {
  HttpLlmOptions options = good();
  options.api_key_source = [] { return std::string(); };
  CHECK(mentions(refusal(options), "api_key_source"));
  options.api_key.clear();
  CHECK(refusal(options).empty());
  options.api_key_env = "HOME";
  CHECK(mentions(refusal(options), "api_key_env"));
}

TEST_CASE("an unset environment variable of a key is named and its value never shown", "[llm]") {
  HttpLlmOptions options = good();
  options.api_key.clear();
  options.api_key_env = "AGENTCORE_TEST_NO_SUCH_KEY";
  CHECK(mentions(refusal(options), "AGENTCORE_TEST_NO_SUCH_KEY"));
  const Environment set("AGENTCORE_TEST_KEY", "sk-from-environment\n");
  options.api_key_env = "AGENTCORE_TEST_KEY";
  CHECK(mentions(refusal(options), "AGENTCORE_TEST_KEY"));
  CHECK_FALSE(mentions(refusal(options), "sk-from"));
}

TEST_CASE("the header of the key must be valid", "[llm]") {
  HttpLlmOptions options = good();
  for (const char* name : {"", "X Key", "X:", "X-Key\n", "\xC3\xBC"}) {
    options.auth_header = name;
    CHECK(mentions(refusal(options), "auth_header"));
  }
  options = good();
  options.auth_prefix = "Key\r\n";
  CHECK(mentions(refusal(options), "auth_prefix"));
  options.auth_prefix = "";
  CHECK(refusal(options).empty());
}

TEST_CASE("the extra body must be a JSON object", "[llm][G15]") {
  HttpLlmOptions options = good();
  const std::string deep = "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}";
  for (const std::string& bad : {std::string("[]"), std::string("{"), std::string("top_k"), deep}) {
    options.extra_body = bad;
    CHECK(mentions(refusal(options), "extra_body"));
  }
  options.extra_body = R"({"top_k": 40})";
  CHECK(refusal(options).empty());
  options.max_tokens_field = "";
  CHECK(mentions(refusal(options), "max_tokens_field"));
  options.max_tokens_field = "max_tokens";
  options.tool_call_id_length = 11;
  CHECK(mentions(refusal(options), "tool_call_id_length"));
}

TEST_CASE("invalid prices and time-outs are refused", "[llm]") {
  HttpLlmOptions options = good();
  options.total_timeout = Duration(0);
  CHECK(mentions(refusal(options), "total_timeout"));
  options = good();
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.prices = {{"gpt", {.prompt = 1, .completion = 1, .cached_prompt = bad}}};
    CHECK(mentions(refusal(options), "gpt"));
  }
  options.prices = {{"gpt", {0, 0}}};
  CHECK(refusal(options).empty());
}

TEST_CASE("the limits of a call reach the transport", "[llm]") {
  HttpLlmOptions options = good();
  options.total_timeout = std::chrono::seconds(7);
  options.max_redirects = 2;
  CHECK(request_template(options).total_timeout == std::chrono::seconds(7));
  CHECK(request_template(options).max_redirects == 2);
}

TEST_CASE("each request names the library, and the version of Anthropic's API", "[llm]") {
  using Headers = std::vector<std::string>;
  const std::string json = "Content-Type: application/json",
                    us = "User-Agent: agentcore/" + std::string(version),
                    api = "anthropic-version: 2023-06-01";
  HttpLlmOptions options = good();
  options.headers = {"X-Title: demo"};
  CHECK(request_template(options).headers == Headers{json, us, "X-Title: demo"});
  options.dialect = Dialect::openai_responses;
  CHECK(request_template(options).headers == Headers{json, us, "X-Title: demo"});
  options.dialect = Dialect::anthropic_messages;
  CHECK(request_template(options).headers == Headers{json, us, api, "X-Title: demo"});
  options.headers = {"user-agent: mine", "Anthropic-Version: 2030-01-01"};
  CHECK(request_template(options).headers ==
        Headers{json, "user-agent: mine", "Anthropic-Version: 2030-01-01"});
  const HttpLlmOptions row = provider_options("anthropic").value();
  CHECK(request_template(row).headers == Headers{json, us, api});
}

TEST_CASE("other text that looks like a secret is hidden", "[llm]") {
  HttpLlmOptions options = good();
  options.headers = {"X-Api-Key:  abcdefgh", "Cookie: yum=chocolate", "X-Title: demonstration",
                     "X-Max-Tokens: 77000000"};
  options.base_url = "http://h/v1?api-version=20241122&key=qwertz&sig-key=1&access_token=asdf";
  options.proxy = "http://me:hunter2@proxy:80";
  const Redactor redact = redactor_for(options);
  CHECK(redact("abcdefgh chocolate demonstration 77000000") == "[secret] [secret] demonstration 77000000");
  CHECK(redact("20241122 qwertz 1 asdf") == "20241122 [secret] 1 [secret]");
  CHECK(redact("me hunter2") == "me [secret]");
}

TEST_CASE("text that is too short for a secret stays readable", "[llm][secrets]") {
  HttpLlmOptions options = good();
  options.headers = {"X-Api-Key: none", "Cookie: a=b"};
  options.base_url = "http://h/v1?key=1";
  options.proxy = "http://me:me@proxy:80";
  CHECK(redactor_for(options)("none a b me 1") == "none a b me 1");
}

TEST_CASE("any text becomes one valid header value", "[llm]") {
  CHECK(header_value("scout-1.2@x") == "scout-1.2@x");
  CHECK(header_value("a b\r\nEvil: 100%") == "a%20b%0D%0AEvil:%20100%25");
  CHECK(header_value("Zo\xC3\xAB\x7F") == "Zo%C3%AB%7F");
  CHECK(header_value("").empty());
}
