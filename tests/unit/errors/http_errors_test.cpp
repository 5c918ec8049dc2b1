// Errors of HttpLlmClient before a request is sent: its options, the request, and the key.
#include "support/observe/chat_record.hpp"
#include "unit/errors/error_rows.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/http_recording.hpp>
#include <agentcore/provider.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <cstdlib>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;

namespace {

// One client and its calls. Nothing is sent: the recording has one exchange, which ends after a second.
struct ClientFixture {
  ClientFixture() {
    HttpExchange exchange;
    exchange.url = "https://api.test/v1/chat/completions";
    exchange.status = 200;
    exchange.ended_at = 1s;
    options.base_url = "https://api.test/v1";
    options.model = "m";
    options.replay =
        std::make_shared<HttpReplay>(std::vector<HttpExchange>{exchange}, HttpReplay::Pace::as_recorded);
  }
  // The error with which a call ends at once.
  Error error(ChatRequest request = ask("a")) {
    HttpLlmClient client(runtime, options);
    ChatRecord heard;
    client.chat(std::move(request), {}, heard.sink());
    return heard.error();
  }

  testing::ManualClock clock;
  Runtime runtime{{.clock = &clock, .log = [](const LogRecord&) {}}};
  HttpLlmOptions options;
};

template <typename Change>
void add_option(ErrorRows& rows, std::string text, Change&& change) {
  ClientFixture f;
  change(f.options);
  rows.push_back({text, f.error(), Errc::invalid_config, text});
}

void add_urls(ErrorRows& rows) {
  const auto add = [&rows](std::string url, std::string text) {
    add_option(rows, std::move(text), [&](HttpLlmOptions& o) { o.base_url = url; });
  };
  add("", "HttpLlmOptions::base_url is empty; set it, e.g. to https://api.openai.com/v1");
  add("ftp://host",
      "HttpLlmOptions::base_url must be http://HOST... or https://HOST..., without spaces, e.g. "
      "https://api.openai.com/v1");
  add("https://me:word@host",
      "HttpLlmOptions::base_url must not hold a user or a password; put the key into api_key");
  add("https://host/#x", "HttpLlmOptions::base_url must not have a fragment; remove the '#'");
}

void add_headers(ErrorRows& rows) {
  add_option(rows, R"(Each of HttpLlmOptions::headers must be "Name: value" on one line)",
             [](HttpLlmOptions& o) { o.headers = {"X"}; });
  add_option(rows, "HttpLlmOptions::auth_header must be the name of a header, e.g. Authorization",
             [](HttpLlmOptions& o) { o.auth_header = "a b"; });
  add_option(rows, "HttpLlmOptions::auth_prefix holds a line break or another control character",
             [](HttpLlmOptions& o) { o.auth_prefix = "\n"; });
  add_option(rows, "HttpLlmOptions::agent_header must be the name of a header, e.g. x-agent-id, or empty",
             [](HttpLlmOptions& o) { o.agent_header = "a b"; });
}

void add_keys(ErrorRows& rows) {
  add_option(rows, "Set only one of HttpLlmOptions::api_key, api_key_env and api_key_source",
             [](HttpLlmOptions& o) { o.api_key = o.api_key_env = "X"; });
  add_option(rows, "HttpLlmOptions::api_key holds a line break or another control character; trim it",
             [](HttpLlmOptions& o) { o.api_key = "sk-secret\n"; });
  add_option(rows,
             "The environment variable AGENTCORE_NO_SUCH_KEY is not set; set it to the key, or change "
             "HttpLlmOptions::api_key_env",
             [](HttpLlmOptions& o) { o.api_key_env = "AGENTCORE_NO_SUCH_KEY"; });
  add_option(
      rows,
      "The variable that HttpLlmOptions::api_key_env names (it must be the name of a variable, not the "
      "key) is not set; set it to the key, or change HttpLlmOptions::api_key_env",
      [](HttpLlmOptions& o) { o.api_key_env = "sk-secret"; });
  ::setenv("AGENTCORE_BAD_KEY", "sk-secret\n", 1);
  add_option(
      rows,
      "The environment variable AGENTCORE_BAD_KEY holds a line break or another control character; trim "
      "it",
      [](HttpLlmOptions& o) { o.api_key_env = "AGENTCORE_BAD_KEY"; });
  ::unsetenv("AGENTCORE_BAD_KEY");
}

void add_numbers(ErrorRows& rows) {
  const auto add = [&rows](std::string text, auto&& change) {
    add_option(rows, "HttpLlmOptions::" + text, change);
  };
  add("connect_timeout is 0 s; it must be greater than 0", [](HttpLlmOptions& o) { o.connect_timeout = 0s; });
  add("first_byte_timeout is -1 ms; it must be greater than 0",
      [](HttpLlmOptions& o) { o.first_byte_timeout = -1ms; });
  add("stall_timeout is -1 ns; it must be greater than 0",
      [](HttpLlmOptions& o) { o.stall_timeout = Duration(-1); });
  add("total_timeout is 0 s; it must be greater than 0", [](HttpLlmOptions& o) { o.total_timeout = 0s; });
  add("max_response_bytes is 0; it must be at least 1", [](HttpLlmOptions& o) { o.max_response_bytes = 0; });
  add("max_line_bytes is 0; it must be at least 1", [](HttpLlmOptions& o) { o.max_line_bytes = 0; });
  add("tool_call_id_length is 11; it must be 1 to 10", [](HttpLlmOptions& o) { o.tool_call_id_length = 11; });
  add("shortest_tool_name is 65; it must be 1 to 64", [](HttpLlmOptions& o) { o.shortest_tool_name = 65; });
  add("prices[\"m\"].prompt is -0.5; it must be 0 to 1e+15",
      [](HttpLlmOptions& o) { o.prices["m"].prompt = -0.5; });
  add("max_tokens_field is empty; set it to max_tokens, or to the name that the provider uses",
      [](HttpLlmOptions& o) { o.max_tokens_field.clear(); });
  add(R"(extra_body must be the text of a JSON object, e.g. {"top_k": 40})",
      [](HttpLlmOptions& o) { o.extra_body = "[]"; });
}

template <typename Change>
void add_request(ErrorRows& rows, Errc code, std::string text, Change&& change) {
  ClientFixture f;
  ChatRequest request = ask("a");
  change(request);
  rows.push_back({text, f.error(std::move(request)), code, text});
}

void add_keys_of_calls(ErrorRows& rows) {
  ClientFixture f;
  f.options.api_key_source = []() -> std::string { throw std::runtime_error("sk-secret"); };
  rows.push_back({"an api_key_source that throws", f.error(), Errc::callback_failed,
                  "HttpLlmOptions::api_key_source threw an exception, which is not logged because it may "
                  "contain the key"});
  f.options.api_key_source = [] { return std::string(); };
  rows.push_back({"an api_key_source without a key", f.error(), Errc::invalid_config,
                  "HttpLlmOptions::api_key_source returned an empty key"});
  f.options.api_key_source = [] { return std::string("sk-secret\n"); };
  rows.push_back({"an api_key_source with a bad key", f.error(), Errc::invalid_config,
                  "HttpLlmOptions::api_key_source returned a key with a line break or another control "
                  "character; trim it"});
}

void add_parts_for_texts(ErrorRows& rows) {
  ClientFixture f;
  f.options.takes_images = false;
  HttpLlmClient client(f.runtime, f.options);
  ChatRequest request = ask("a");
  request.messages.front().items.emplace_back(ContentPart{.url = "https://a.test/b.png"});
  ChatRecord heard;
  client.chat(request, {}, heard.sink());
  CHECK(heard.error().model_specific);
  rows.push_back({"an image for a server that takes only texts", heard.error(), Errc::unsupported_part,
                  "message 1 of ChatRequest::messages has an image, but the server takes only texts "
                  "(HttpLlmOptions::takes_images is false); remove it from the conversation, or ask another "
                  "server"});
}

void add_second_call(ErrorRows& rows) {
  ClientFixture f;
  ChatRecord first, second;  // outlive the client, whose end delivers to the first
  HttpLlmClient client(f.runtime, f.options);
  client.chat(ask("a"), {}, first.sink());
  client.chat(ask("a"), {}, second.sink());
  rows.push_back({"a second call of an agent", second.error(), Errc::request_in_progress,
                  "this agent has a model call open in this client; abort it or wait for its end"});
}

}  // namespace

ErrorRows test::http_option_errors() {
  ErrorRows rows;
  add_urls(rows);
  add_headers(rows);
  add_keys(rows);
  add_numbers(rows);
  rows.push_back(
      {"an unknown provider", provider_options("nobody").error(), Errc::invalid_config,
       "There is no provider \"nobody\"; the known providers are anthropic, azure, cerebras, deepseek, "
       "fireworks, gemini, groq, kimi, llamacpp, lmstudio, mistral, nvidia, ollama, openai, "
       "openai-responses, "
       "openrouter, together, "
       "vllm, xai. For another one, set HttpLlmOptions::base_url, and dialect if it does not speak "
       "OpenAI's"});
  return rows;
}

ErrorRows test::http_request_errors() {
  ErrorRows rows;
  const Errc invalid = Errc::invalid_config;
  add_option(rows, "No model is set; set HttpLlmOptions::model or ChatRequest::model",
             [](HttpLlmOptions& o) { o.model.clear(); });
  add_request(rows, Errc::empty_message,
              "the last of ChatRequest::messages is a user message without text and images; add a text, or "
              "remove the message (some providers would answer the message before it again)",
              [](ChatRequest& r) { r.messages.back().set_content(" "); });
  add_request(rows, Errc::unsupported_part,
              "message 1 of ChatRequest::messages has audio with a URL, which Dialect::openai_chat does not "
              "take; send its data in base64, or another kind of part",
              [](ChatRequest& r) {
                r.messages.front().items.emplace_back(
                    ContentPart{.url = "https://a.test/b.wav", .kind = ContentPart::Kind::audio});
              });
  add_parts_for_texts(rows);
  add_request(rows, invalid,
              "ChatRequest::response_format.schema must be the text of a JSON object with members",
              [](ChatRequest& r) {
                r.response_format = {ResponseFormat::Kind::json_schema, "", "{}"};
              });
  add_request(rows, invalid,
              "ToolDescription::parameters of \"look\" must be empty or the text of a JSON object",
              [](ChatRequest& r) {
                r.tools = {{"look", "", "[]"}};
              });
  add_request(rows, invalid, "ChatRequest::temperature is 9; it must be 0 to 2",
              [](ChatRequest& r) { r.temperature = 9; });
  add_request(rows, invalid, "ChatRequest::top_p is -1; it must be 0 to 1",
              [](ChatRequest& r) { r.top_p = -1; });
  add_request(rows, invalid, "ChatRequest::max_tokens is 0; it must be at least 1",
              [](ChatRequest& r) { r.max_tokens = 0; });
  add_request(rows, Errc::deadline_exceeded,
              "ChatRequest::deadline passed before the call began; set a later one",
              [](ChatRequest& r) { r.deadline = TimePoint(); });
  add_keys_of_calls(rows);
  add_second_call(rows);
  return rows;
}

TEST_CASE("every error of HttpLlmOptions and of a provider has its text", "[errors][llm]") {
  check(http_option_errors());
}

TEST_CASE("every error of a request before it is sent has its text", "[errors][llm]") {
  check(http_request_errors());
}
