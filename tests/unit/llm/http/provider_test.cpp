// The table of providers, and the options that it makes.
#include "llm/http/config.hpp"
#include "support/catch.hpp"
#include "support/prop.hpp"
#include "support/wire/provider_request.hpp"
#include "testing/request_rules.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/provider.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using Headers = std::vector<std::string>;

namespace {

std::string refusal(std::string_view name) {
  const auto options = provider_options(name);
  REQUIRE_FALSE(options);
  CHECK(options.error().code == Errc::invalid_config);
  return options.error().message;
}

}  // namespace

TEST_CASE("every provider makes options that can be called", "[llm][provider]") {
  for (const Provider& provider : providers()) {
    INFO(provider.name);
    HttpLlmOptions options = provider_options(provider.name, {"https://app.example", "App"}).value();
    CHECK(options.base_url == provider.base_url);
    CHECK(options.api_key.empty());
    CHECK(options.api_key_env == provider.api_key_env);
    options.api_key_env.clear();  // it need not be set here
    if (options.base_url.empty()) {
      const auto error = detail::llm::check_options(options);
      REQUIRE(error);
      CHECK(error->message.find("base_url") != std::string::npos);
      options.base_url = "https://resource.example/openai/v1";
    }
    const auto error = detail::llm::check_options(options);
    CHECK((error ? error->message : "") == "");
    CHECK(options.model.empty());
  }
}

TEST_CASE("providers are sorted by name and names are unique", "[llm][provider]") {
  std::vector<std::string_view> names;
  for (const Provider& provider : providers()) names.push_back(provider.name);
  CHECK(names.size() > 15);
  CHECK(std::ranges::adjacent_find(names, std::ranges::greater_equal{}) == names.end());
  for (const Provider& provider : providers()) {
    CHECK_FALSE(provider.name.empty());
    CHECK(provider.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
  }
}

TEST_CASE("a key is sent only over TLS or to the local machine", "[llm][provider]") {
  for (const Provider& provider : providers()) {
    INFO(provider.name);
    const bool local = provider.base_url.starts_with("http://127.0.0.1:");
    CHECK((local || provider.base_url.empty() || provider.base_url.starts_with("https://")));
    CHECK(provider.api_key_env.empty() == local);
    CHECK_FALSE(provider.base_url.ends_with('/'));
  }
}

TEST_CASE("the error for an unknown provider lists the known ones", "[llm][provider]") {
  const std::string message = refusal("openia");
  CHECK(message.find("\"openia\"") != std::string::npos);
  for (const Provider& provider : providers()) CHECK(message.find(provider.name) != std::string::npos);
  for (const char* name : {"", "a", "OpenAI", "openai ", "zzz"}) CHECK_FALSE(refusal(name).empty());
  CHECK(refusal("\xFF").find("\"\xEF\xBF\xBD\"") != std::string::npos);
  CHECK(refusal(std::string(100000, 'x')).size() < 1000);
}

TEST_CASE("options differ for providers that need it", "[llm][provider]") {
  const HttpLlmOptions anthropic = provider_options("anthropic").value();
  CHECK(anthropic.dialect == Dialect::anthropic_messages);
  CHECK(anthropic.auth_header == "x-api-key");
  CHECK(anthropic.auth_prefix.empty());
  CHECK(anthropic.headers == Headers{"anthropic-version: 2023-06-01"});
  CHECK(anthropic.max_tokens == 4096);
  const HttpLlmOptions azure = provider_options("azure").value();
  CHECK(azure.auth_header == "api-key");
  CHECK(azure.auth_prefix.empty());
  CHECK(provider_options("openai").value().max_tokens_field == "max_completion_tokens");
  CHECK(provider_options("openai-responses").value().dialect == Dialect::openai_responses);
  CHECK(provider_options("mistral").value().tool_call_id_length == 9);
  CHECK(provider_options("mistral").value().extra_body == R"({"stream_options":null})");
  for (const char* name : {"llamacpp", "lmstudio", "mistral", "ollama", "openrouter", "vllm"})
    CHECK(provider_options(name).value().join_user_messages == JoinUserMessages::always);
  for (const char* name : {"anthropic", "groq", "openai"})
    CHECK(provider_options(name).value().join_user_messages == JoinUserMessages::unsent);
  for (const char* name : {"mistral", "openai", "openai-responses"})
    CHECK(provider_options(name).value().sends_cache_key);
  for (const char* name : {"cerebras", "groq", "nvidia", "vllm"})
    CHECK_FALSE(provider_options(name).value().sends_cache_key);
  CHECK(provider_options("ollama").value().base_url == "http://127.0.0.1:11434/v1");
}

TEST_CASE("a row sends no parts to a provider that takes only texts, and to all others", "[llm][provider]") {
  for (const Provider& provider : providers()) {
    INFO(provider.name);
    const auto& rules = *detail::testing::request_rules(provider.name);
    CHECK(provider.takes_images == rules.images);
    CHECK(provider.takes_unsigned_reasoning == rules.unsigned_reasoning);
    const HttpLlmOptions options = provider_options(provider.name).value();
    CHECK(options.takes_images == provider.takes_images);
    CHECK(options.takes_unsigned_reasoning == provider.takes_unsigned_reasoning);
  }
  CHECK_FALSE(provider_options("cerebras").value().takes_images);
  CHECK_FALSE(provider_options("deepseek").value().takes_images);
  CHECK(provider_options("openai").value().takes_images);
}

// A host may use a row with another dialect that its server speaks.
TEST_CASE("a row keeps the rule of the dialect for reasoning that nobody signed",
          "[llm][provider][reasoning]") {
  for (const char* const name : {"llamacpp", "lmstudio", "ollama"})
    for (const Dialect dialect :
         {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages}) {
      HttpLlmOptions options = provider_options(name).value();
      options.dialect = dialect;
      ReasoningRule rule = detail::llm::rule_of(dialect);
      rule.takes_unsigned = true;
      CHECK(detail::llm::body_defaults(options).reasoning == rule);
      options.takes_unsigned_reasoning = false;
      rule.takes_unsigned = false;
      CHECK(detail::llm::body_defaults(options).reasoning == rule);
    }
  const ReasoningRule vllm = detail::llm::body_defaults(provider_options("vllm").value()).reasoning.value();
  CHECK(vllm.takes_unsigned);
  CHECK_FALSE(vllm.same_model);
  for (const char* const name : {"anthropic", "fireworks", "openai-responses", "openrouter"})
    CHECK_FALSE(detail::llm::body_defaults(provider_options(name).value()).reasoning->takes_unsigned);
}

TEST_CASE("reasoning is never sent to a provider that documents no member for it", "[llm][provider]") {
  for (const Provider& provider : providers()) {
    const auto& rules = *detail::testing::request_rules(provider.name);
    if (rules.form != detail::testing::RequestForm::chat) continue;
    INFO(provider.name);
    const bool has_member = rules.answer_members.find("reasoning") != std::string_view::npos ||
                            rules.answer_members.find("extra_content") != std::string_view::npos;
    const bool is_sent = !provider.reasoning || provider.reasoning->when != ReasoningRule::When::never;
    CHECK((has_member || !is_sent));
  }
}

// As if the server had made it: then nothing but the row keeps it back.
TEST_CASE("what a server has reasoned passes the rules of its provider", "[llm][provider]") {
  for (const char* const name : {"azure", "cerebras", "deepseek", "fireworks", "groq", "kimi", "llamacpp",
                                 "mistral", "openai", "openrouter", "vllm", "xai"}) {
    const test::ProviderForm form = test::form_of(name);
    ChatRequest request;
    request.model = "m";
    request.tools = {{"look", "", ""}};
    ReasoningBlock block{.dialect = "openai_chat", .data = R"({"reasoning_content":"Hm"})"};
    block.server = form.server;
    block.model = "m";
    request.messages = {ChatMessage::user("q"), test::answer("", {{"abc123XYZ", "look", "{}"}}, {block}),
                        test::result("abc123XYZ", "r")};
    const std::string body = test::body_for(form, request);
    CHECK(test::refusal_of(name, body).empty());
    const bool is_sent = body.find("Hm") != std::string::npos;
    CHECK(is_sent == (form.defaults.reasoning.value_or(ReasoningRule{}).when != ReasoningRule::When::never));
  }
}

TEST_CASE("the application is named to providers that ask for it", "[llm][provider][O7]") {
  const auto headers = [](const AppIdentity& app) {
    return provider_options("openrouter", app).value().headers;
  };
  CHECK(headers({"https://app.example", "My App"}) ==
        Headers{"HTTP-Referer: https://app.example", "X-Title: My App"});
  CHECK(headers({.name = "My App"}) == Headers{"X-Title: My App"});
  CHECK(headers({}).empty());
  CHECK(headers({"\r\n", " \t"}).empty());
  CHECK(headers({.name = "\nMy\r\nCookie: x\n"}) == Headers{"X-Title: My  Cookie: x"});
  CHECK(provider_options("groq", {"https://app.example", "My App"}).value().headers.empty());
}

TEST_CASE("the name of an application cannot split a header", "[llm][provider]") {
  prop("whatever bytes name it, the options are good and no header is added", [](const std::string& bytes) {
    HttpLlmOptions options = provider_options("openrouter", {bytes, bytes}).value();
    options.api_key_env.clear();  // it need not be set here
    RC_ASSERT(!detail::llm::check_options(options));
    RC_ASSERT(options.headers.size() <= 2U);
  });
}
