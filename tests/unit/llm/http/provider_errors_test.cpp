// What providers really send when a call fails, and what it means: a table. The forms are from the documents
// of the providers and from reports about them; names and numbers in them are made up.
#include "llm/dialects/wire_format.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;
using namespace std::chrono_literals;
using detail::llm::anthropic_messages;
using detail::llm::openai_chat;
using detail::llm::openai_responses;
using detail::llm::WireFormat;

namespace {

enum class Means : unsigned char { refused, passing, model, account, busy };

constexpr std::size_t pieces[] = {0, 1, 7};  // in bytes; 0: all of it

using Fields = std::map<std::string, std::string>;

struct Row {
  const char* provider;
  int status;
  std::string body;
  Means means;
  std::chrono::milliseconds retry_after = 0ms;
  Fields fields = {};
};

std::string event(std::string_view data, std::string_view name = "") {
  return (name.empty() ? "" : "event: " + std::string(name) + "\n") + "data: " + std::string(data) + "\n\n";
}

bool is_stream(std::string_view body) {
  return body.starts_with("data:") || body.starts_with("event:") || body.starts_with("error:");
}

// In pieces of so many bytes; 0: in one piece.
ChatRecord answered(const Row& row, const WireFormat& format, std::size_t piece) {
  CallFixture fixture(true, 1 << 20, 1 << 20, format);
  detail::net::HttpHead head{.status = row.status,
                             .content_type = is_stream(row.body) ? all_events : json_type};
  for (const auto& [name, value] : row.fields) head.fields.emplace_back(name, value);
  fixture.call->on_head(head);
  const std::string_view body = row.body;
  for (std::size_t at = 0; at < body.size(); at += piece == 0 ? body.size() : piece)
    fixture.call->on_body(body.substr(at, piece == 0 ? body.size() : piece));
  return fixture.end();
}

void check(const Row& row, const WireFormat& format, std::size_t piece) {
  CAPTURE(row.provider, row.status, row.body, piece);
  const ChatRecord heard = answered(row, format, piece);
  REQUIRE(heard.outcomes.size() == 1);
  REQUIRE(heard.outcomes[0].kind == ChatOutcome::Kind::failed);
  const ChatError& error = heard.error();
  CAPTURE(error.message);
  CHECK((error.code == Errc::account_exhausted) == (row.means == Means::account));
  CHECK(error.retryable == (row.means == Means::passing || row.means == Means::busy));
  CHECK(error.model_specific ==
        (row.means == Means::model || row.means == Means::account || row.means == Means::busy));
  CHECK(error.retry_after == row.retry_after);
  CHECK(error.http_status == row.status);
}

// `in_pieces`: a failure's body is only collected, so its pieces are tried once.
void check(const std::vector<Row>& rows, const WireFormat& format = openai_chat()) {
  for (const Row& row : rows)
    for (const std::size_t piece : pieces) check(row, format, piece);
}

}  // namespace

TEST_CASE("provider errors: a request that is too long for the model", "[llm][errors][X19]") {
  check({
      {"OpenAI", 400,
       R"({"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})",
       Means::model},
      {"OpenAI, without a code", 400,
       R"({"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":null}})",
       Means::model},
      {"Azure", 400,
       R"({"error":{"message":"This model's maximum context length is 128000 tokens. However, you requested 130000 tokens (128000 in the messages, 2000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})",
       Means::model},
      {"Gemini", 400,
       R"([{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}])",
       Means::model},
      {"DeepSeek", 400,
       R"({"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}})",
       Means::model},
      {"Mistral", 400,
       R"({"object":"error","message":"Prompt contains 40011 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"})",
       Means::model},
      {"Kimi", 400,
       R"j({"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}})j",
       Means::model},
      {"DashScope", 400,
       R"({"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]","param":null,"type":"invalid_request_error"},"request_id":"r"})",
       Means::model},
      {"Groq", 400,
       R"({"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}})",
       Means::model},
      {"Groq, more than its limit per minute", 413,
       R"({"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}})",
       Means::model},
      {"OpenRouter", 400,
       R"({"error":{"message":"This endpoint's maximum context length is 1048576 tokens. However, you requested about 1293741 tokens (1227853 of text input, 353 of tool input, 65535 in the output).","code":400,"metadata":{"provider_name":null}}})",
       Means::model},
      {"OpenRouter, its provider's words", 400,
       R"({"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.\"}","provider_name":"Poolside"}}})",
       Means::model},
      {"Together", 422,
       R"({"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 1024 `max_new_tokens`","type":"invalid_request_error","param":null,"code":null}})",
       Means::model},
      {"vLLM", 400,
       R"j({"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)","type":"BadRequestError","param":"input_tokens","code":400}})j",
       Means::model},
      {"vLLM, older", 400,
       R"({"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","param":null,"code":400})",
       Means::model},
      {"llama.cpp", 400,
       R"({"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}})",
       Means::model},
      {"llama.cpp, its first version", 500,
       R"({"error":{"code":500,"message":"the request exceeds the available context size.","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}})",
       Means::model},
      {"llama.cpp, in a stream", 200,
       "error: "
       R"({"code":400,"message":"the request exceeds the available context size.","type":"exceed_context_size_error"})"
       "\n\n",
       Means::model},
      {"LM Studio", 400,
       R"({"error":"Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."})",
       Means::model},
      {"LM Studio, in a stream", 200,
       event(
           R"({"error":{"message":"The number of tokens to keep from the initial prompt is greater than the context length."}})",
           "error"),
       Means::model},
      {"Ollama", 400,
       R"({"error":{"message":"input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}})",
       Means::model},
      {"xAI", 400,
       R"({"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."})",
       Means::model},
      {"Bedrock, behind a gateway", 400,
       R"({"message":"Input is too long for requested model.","type":"ValidationException"})", Means::model},
      {"GitHub Copilot", 400,
       R"({"error":{"message":"prompt token count of 93854 exceeds the limit of 90000","param":"","code":"model_max_prompt_tokens_exceeded","type":""}})",
       Means::model},
      {"MiniMax", 400,
       R"j({"error":{"message":"invalid params, context window exceeds limit (2013)","type":"bad_request_error","http_code":"400"}})j",
       Means::model},
      {"Z.ai", 400, R"({"error":{"code":"1261","message":"Prompt exceeds max length"}})", Means::model},
      {"LiteLLM", 400,
       R"({"error":{"message":"litellm.ContextWindowExceededError: too long","type":"ContextWindowExceededError","param":null,"code":"400"}})",
       Means::model},
      {"Cerebras", 413, "", Means::model},
      {"a proxy with a limit", 413, "<html><h1>413 Request Entity Too Large</h1></html>", Means::model},
      {"plain text", 400, "prompt is too long", Means::model},
  });
}

TEST_CASE("provider errors: an unknown model", "[llm][errors][X19]") {
  check({
      {"OpenAI", 404,
       R"({"error":{"message":"The model `gpt-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}})",
       Means::model},
      {"OpenAI, a project without the model", 403,
       R"({"error":{"message":"Project `proj` does not have access to model `gpt-9`","type":"invalid_request_error","param":null,"code":"model_not_found"}})",
       Means::model},
      {"Azure", 404,
       R"({"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}})",
       Means::model},
      {"GitHub Models", 400,
       R"({"error":{"code":"unknown_model","message":"Unknown model: gpt-9","details":"Unknown model: gpt-9"}})",
       Means::model},
      {"Gemini", 404,
       R"([{"error":{"code":404,"message":"models/gemini-pro is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}])",
       Means::model},
      {"DeepSeek", 400,
       R"({"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}})",
       Means::model},
      {"Mistral", 400,
       R"({"object":"error","message":"Invalid model: mistral-9","type":"invalid_model","param":null,"code":"1500"})",
       Means::model},
      {"Kimi", 404,
       R"({"error":{"message":"Not found the model kimi-9 or Permission denied","type":"resource_not_found_error"}})",
       Means::model},
      {"DashScope", 404,
       R"({"error":{"message":"The model `qwen-9` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"},"request_id":"r"})",
       Means::model},
      {"Groq, a model of yesterday", 400,
       R"({"error":{"message":"The model `llama2-70b-4096` has been decommissioned and is no longer supported.","type":"invalid_request_error","code":"model_decommissioned"}})",
       Means::model},
      {"OpenRouter", 400,
       R"({"error":{"message":"openai/gpt-99 is not a valid model ID","code":400},"user_id":"u"})",
       Means::model},
      {"OpenRouter, no provider", 404, R"({"error":{"message":"No endpoints found for x/y.","code":404}})",
       Means::model},
      {"Together", 400,
       R"({"id":"o","error":{"message":"Unable to access non-serverless model meta-llama/Llama-3-8b-chat-hf. Please visit https://api.together.ai/models to create and start a new dedicated endpoint for the model.","type":"invalid_request_error","param":null,"code":"model_not_available"}})",
       Means::model},
      {"vLLM", 404,
       R"({"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","param":null,"code":404})",
       Means::model},
      {"Ollama", 404,
       R"({"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error","param":null,"code":null}})",
       Means::model},
      {"LM Studio", 404,
       R"({"error":{"message":"No models loaded. Please load a model in the developer page or use the 'lms load' command.","type":"invalid_request_error","param":"model","code":"model_not_found"}})",
       Means::model},
      {"xAI", 404,
       R"({"code":"Some requested entity was not found","error":"The model grok-9 does not exist or your team t does not have access to it. Please ensure you're using the correct API key."})",
       Means::model},
      {"Bedrock, behind a gateway", 400,
       R"({"message":"The provided model identifier is invalid.","type":"ValidationException"})",
       Means::model},
      {"Bedrock, no access", 403,
       R"({"message":"You don't have access to the model with the specified model ID."})", Means::model},
      {"NVIDIA", 404,
       R"({"status":404,"title":"Not Found","detail":"Function 'f': Not found for account 'a'"})",
       Means::model},
      {"Cerebras", 404,
       R"({"message":"Model x does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"})",
       Means::model},
      {"Z.ai", 400, R"({"error":{"code":"1211","message":"Unknown Model, please check the model code."}})",
       Means::model},
      {"new-api, with a status of its own", 503,
       R"({"error":{"code":"model_not_found","message":"No available channel for model x under group default","type":"new_api_error"}})",
       Means::model},
      {"in a stream", 200, event(R"({"error":{"message":"The model `x` does not exist.","code":404}})"),
       Means::model},
      {"a wrong path", 404, R"({"detail":"Not Found"})", Means::refused},
      {"a wrong path, Anthropic", 404,
       R"({"type":"error","error":{"type":"not_found_error","message":"Not found"}})", Means::refused},
      {"a page", 404, "<html>the model of a page</html>", Means::refused},
  });
}

TEST_CASE("provider errors: an account that is used up", "[llm][errors][X19]") {
  check({
      {"OpenAI", 429,
       R"({"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}})",
       Means::account},
      {"OpenAI, though it names a time",
       429,
       R"({"error":{"message":"no quota","type":"insufficient_quota","code":null}})",
       Means::account,
       2s,
       {{"retry-after", "2"}}},
      {"OpenAI, its hard limit", 400,
       R"({"error":{"message":"Billing hard limit has been reached","type":"invalid_request_error","param":null,"code":"billing_hard_limit_reached"}})",
       Means::account},
      {"DeepSeek", 402,
       R"({"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}})",
       Means::account},
      {"Kimi", 403,
       R"({"error":{"message":"Your account org is not active, organization org exceeded current quota, please check your plan and billing details","type":"exceeded_current_quota_error"}})",
       Means::account},
      {"OpenRouter", 402,
       R"({"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 10114.","code":402,"metadata":{"provider_name":null}},"user_id":"u"})",
       Means::account},
      {"OpenRouter, in a stream", 200,
       event(
           R"({"id":"g","error":{"code":402,"message":"Insufficient credits"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]})"),
       Means::account},
      {"xAI", 429,
       R"({"code":"Some resource has been exhausted","error":"Your team t has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."})",
       Means::account},
      {"xAI, a new team", 403,
       R"({"code":"The caller does not have permission to execute the specified operation","error":"Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/t."})",
       Means::account},
      {"DashScope", 400,
       R"({"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","param":null,"code":"Arrearage"}})",
       Means::account},
      {"Z.ai", 429,
       R"({"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}})",
       Means::account},
      {"Z.ai, in Chinese", 429, R"({"error":{"message":"余额不足或无可用资源包,请充值。"}})", Means::account},
      {"MiniMax, with a good status", 200,
       R"({"id":"m","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}})",
       Means::account},
      {"ModelScope", 429,
       R"j({"error":{"http_code":"429","message":"insufficient balance (1008)","type":"insufficient_balance_error"},"request_id":"r"})j",
       Means::account},
      {"SiliconFlow", 403,
       R"({"code":30011,"message":"The selected model requires paid balance. Your paid balance is insufficient. Please top up and try again.","data":null})",
       Means::account},
      {"Gemini, for a day and without a time", 429,
       R"([{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}])",
       Means::account},
      {"402 without a body", 402, "", Means::account},
  });
}

TEST_CASE("provider errors: a rate limit", "[llm][errors][X19]") {
  check({
      {"OpenAI", 429,
       R"({"error":{"message":"Rate limit reached for o4-mini in organization org on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s. Visit https://platform.openai.com/account/rate-limits to learn more. You can increase your rate limit by adding a payment method to your account at https://platform.openai.com/account/billing.","type":"requests","param":null,"code":"rate_limit_exceeded"}})",
       Means::passing, 432s},
      {"OpenAI, with headers",
       429,
       R"({"error":{"message":"Please try again in 20s.","code":"rate_limit_exceeded"}})",
       Means::passing,
       1500ms,
       {{"retry-after-ms", "1499.2"}, {"retry-after", "2"}}},
      {"Azure", 429,
       R"({"error":{"code":"429","message":"Rate limit is exceeded. Try again in 2 seconds."}})",
       Means::passing, 2s},
      {"Azure, at its peak", 429,
       R"({"error":{"code":"RATE_LIMITED","message":"The system is currently experiencing high demand and cannot process your request. Please retry after 20 seconds."}})",
       Means::passing, 20s},
      {"Gemini, a quota per minute", 429,
       R"([{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: generate_content_paid_tier_input_token_count, limit: 4000000","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateContentPaidTierInputTokensPerModelPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}}])",
       Means::passing, 34070ms},
      {"Gemini, in words", 429,
       R"({"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\nPlease retry in 36.429760048s.","status":"RESOURCE_EXHAUSTED"}})",
       Means::passing, 36430ms},
      {"Gemini, older", 429,
       R"([{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}])",
       Means::passing},
      {"Kimi", 429,
       R"({"error":{"message":"request reached max request: 3","type":"rate_limit_reached_error"}})",
       Means::passing},
      {"DashScope, in the code of a used-up account", 429,
       R"({"error":{"message":"Allocated quota exceeded, please increase your quota limit.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}})",
       Means::passing},
      {"OpenRouter, a free model", 429,
       R"({"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429}})",
       Means::passing},
      {"OpenRouter, in a stream", 200,
       event(
           R"({"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is temporarily rate-limited upstream. Please retry shortly","provider_name":"Google"}}})"),
       Means::passing},
      {"an endpoint that means 429 as a text", 200, event(R"({"error":{"message":"quota","code":"429"}})"),
       Means::passing},
      {"Mistral", 200,
       event(
           R"({"object":"error","message":"Requests rate limit exceeded","type":"rate_limited","code":"1300"})"),
       Means::passing},
      {"a word alone, in 400", 400, R"({"error":{"message":"Rate limit exceeded"}})", Means::passing},
      {"too many tokens for a minute is no full context", 429,
       R"({"message":"Too many tokens, please wait before trying again.","type":"ThrottlingException"})",
       Means::passing},
      {"the same with a good status", 200,
       R"({"message":"Too many tokens, please wait before trying again."})", Means::passing},
      {"409: a lock", 409, R"({"error":{"message":"conflict"}})", Means::passing},
  });
}

TEST_CASE("provider errors: a server that is overloaded or has failed", "[llm][errors][X19]") {
  check({
      {"Gemini", 503,
       R"([{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}])",
       Means::passing},
      {"Gemini, in a stream", 200, event(R"({"error":{"code":"x","message":"busy","status":"UNAVAILABLE"}})"),
       Means::passing},
      {"Kimi", 429,
       R"({"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}})",
       Means::passing},
      {"Kimi, in a stream", 200, event(R"({"error":{"message":"wait","type":"engine_overloaded_error"}})"),
       Means::passing},
      {"Mistral", 429,
       R"({"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"})",
       Means::passing},
      {"Groq", 498, R"({"error":{"message":"flex","type":"internal_error","code":"capacity_exceeded"}})",
       Means::passing},
      {"OpenAI, in 400", 400,
       R"({"error":{"message":"Our servers are currently overloaded. Please try again later.","type":"invalid_request_error"}})",
       Means::passing},
      {"a model that is overloaded", 503, R"({"error":{"message":"x","code":"model_overloaded"}})",
       Means::busy},
      {"vLLM", 200,
       event(R"({"error":{"message":"x","type":"InternalServerError","param":null,"code":500}})"),
       Means::passing},
      {"llama.cpp, while it loads", 503,
       R"({"error":{"code":503,"message":"Loading model","type":"unavailable_error"}})", Means::passing},
      {"a status in a body of another name", 200, R"({"status":529,"message":"x"})", Means::passing},
      {"Cloudflare", 524, "<html>524</html>", Means::passing},
      {"a text alone, in 400", 400, "upstream is temporarily unavailable", Means::passing},
  });
}

TEST_CASE("provider errors: Anthropic's dialect", "[llm][errors][anthropic][X19]") {
  check(
      {
          {"overloaded",
           529,
           R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
           Means::passing,
           0ms,
           {{"x-should-retry", "true"}}},
          {"overloaded, in a stream", 200,
           event(
               R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded","details":null},"request_id":"r"})",
               "error"),
           Means::passing},
          {"without a type", 200, event(R"({"error":{"message":"quota","code":"429"}})", "error"),
           Means::passing},
          {"Bedrock, by its type alone", 200,
           event(R"({"message":"wait","type":"throttlingException"})", "exception"), Means::passing},
          {"Bedrock", 200,
           event(R"({"message":"Too many requests, please wait","type":"throttlingException"})", "exception"),
           Means::passing},
          {"too long", 400,
           R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}})",
           Means::model},
          {"too long with its answer", 400,
           R"({"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"}})",
           Means::model},
          {"more than 32 MB", 413,
           R"({"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}})",
           Means::model},
          {"an unknown model", 404,
           R"({"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}})",
           Means::model},
          {"no credit", 400,
           R"({"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}})",
           Means::account},
          {"a limit that its owner has set", 400,
           R"({"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}})",
           Means::account},
          {"billing", 402, R"({"type":"error","error":{"type":"billing_error","message":"x"}})",
           Means::account},
          {"OpenCode Zen", 401,
           R"({"type":"error","error":{"type":"CreditsError","message":"Insufficient balance. Manage your billing here: https://opencode.ai/billing"}})",
           Means::account},
          {"Z.ai", 429,
           R"({"type":"error","error":{"type":"rate_limit_error","code":"1113","message":"[1113][Insufficient balance or no resource package. Please recharge.]"}})",
           Means::account},
          {"a rate limit",
           429,
           R"({"type":"error","error":{"type":"rate_limit_error","message":"x"}})",
           Means::passing,
           7s,
           {{"retry-after", "7"}}},
          {"a limit of a plan, not to be tried again",
           429,
           R"({"type":"error","error":{"type":"rate_limit_error","message":"x"}})",
           Means::model,
           0ms,
           {{"x-should-retry", "false"}}},
          {"a wrong request", 400,
           R"({"type":"error","error":{"type":"invalid_request_error","message":"messages: at least one message is required"}})",
           Means::refused},
          {"a wrong key", 401,
           R"({"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}})",
           Means::refused},
      },
      anthropic_messages());
}

TEST_CASE("provider errors: the Responses dialect", "[llm][errors][responses][X19]") {
  const auto failed = [](std::string_view error) {
    return event(R"({"type":"response.created","response":{"id":"r1","status":"in_progress","output":[]}})",
                 "response.created") +
           event(R"({"type":"response.failed","response":{"id":"r1","status":"failed","error":)" +
                     std::string(error) + "}}",
                 "response.failed");
  };
  check(
      {
          {"overloaded, at the root", 200,
           event(
               R"({"type":"error","code":"server_is_overloaded","message":"Our servers are currently overloaded. Please try again later.","param":null,"sequence_number":2})",
               "error"),
           Means::passing},
          {"overloaded, in an object", 200,
           event(
               R"({"type":"error","error":{"type":"service_unavailable_error","code":"server_is_overloaded","message":"x","param":null},"sequence_number":2})",
               "error"),
           Means::passing},
          {"overloaded, failed", 200, failed(R"({"code":"server_is_overloaded","message":"x"})"),
           Means::passing},
          {"slow down", 200, failed(R"({"code":"slow_down","message":"x"})"), Means::passing},
          {"a limit, and for how long", 200,
           failed(
               R"({"code":"rate_limit_exceeded","message":"Rate limit reached for gpt-5. Please try again in 1.2s."})"),
           Means::passing, 1200ms},
          {"no quota", 200,
           failed(R"({"code":"insufficient_quota","message":"You exceeded your current quota"})"),
           Means::account},
          {"too long", 200, failed(R"({"code":"context_length_exceeded","message":"x"})"), Means::model},
          {"no reason", 200, failed("null"), Means::passing},
          {"no reason, an empty object", 200, failed("{}"), Means::passing},
          {"a status of a proxy", 200,
           event(R"({"type":"error","status_code":529,"error":{"message":"Overloaded"}})", "error"),
           Means::passing},
          {"a status at the root", 200, event(R"({"type":"error","status":429,"message":"x"})", "error"),
           Means::passing},
          {"an unknown model", 400,
           R"({"error":{"message":"The requested model 'x' does not exist.","type":"invalid_request_error","param":"model","code":"model_not_found"}})",
           Means::model},
          {"a wrong request", 200, failed(R"({"code":"invalid_prompt","message":"x"})"), Means::refused},
      },
      openai_responses());
}

TEST_CASE("an overload in the middle of an answer ends it", "[llm][errors][anthropic]") {
  const std::string begin =
      event(R"({"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"c",)"
            R"("content":[],"usage":{"input_tokens":10,"output_tokens":1}}})",
            "message_start") +
      event(R"({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})",
            "content_block_start") +
      event(R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hal"}})",
            "content_block_delta");
  const std::string error =
      event(R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", "error");
  for (const std::size_t piece : pieces) {
    const ChatRecord heard = answered({"", 200, begin + error, Means::passing}, anthropic_messages(), piece);
    REQUIRE(heard.failed_with(Errc::api_error));
    CHECK(heard.text() == "Hal");
    CHECK(heard.error().retryable);
    CHECK(heard.error().message == "Overloaded");
  }
}

TEST_CASE("an error inside a response that has completed is none", "[llm][errors][responses]") {
  const std::string body =
      event(R"({"type":"response.output_text.delta","output_index":0,"delta":"Hi"})",
            "response.output_text.delta") +
      event(R"({"type":"response.completed","response":{"id":"r1","status":"completed","output":[],)"
            R"("error":{"code":"x","message":"y"}}})",
            "response.completed");
  for (const std::size_t piece : pieces) {
    const ChatRecord heard = answered({"", 200, body, Means::refused}, openai_responses(), piece);
    REQUIRE(heard.completed());
    CHECK(heard.text() == "Hi");
  }
}

TEST_CASE("a status decides, and words do not decide against it", "[llm][errors][X19]") {
  for (const WireFormat* format : {&openai_chat(), &anthropic_messages(), &openai_responses()}) {
    const auto row = [&](int status, const char* message, Means means) {
      const std::string body = R"({"error":{"message":")" + std::string(message) + "\"}}";
      for (const std::size_t piece : pieces) check({"words", status, body, means}, *format, piece);
    };
    for (const char* words : {"rate limit exceeded", "the server is overloaded, try again later"})
      for (const int status : {401, 403, 404, 405, 422}) row(status, words, Means::refused);
    for (const char* words : {"prompt is too long", "maximum context length", "The model x does not exist",
                              "Insufficient balance"})
      for (const int status : {500, 502, 503, 529}) row(status, words, Means::passing);
    for (const char* words : {"prompt is too long", "The model x does not exist", "nothing known"})
      for (const int status : {408, 409, 429}) row(status, words, Means::passing);
    row(401, "The model x does not exist", Means::refused);
    row(400, "nothing known", Means::refused);
    row(200, "nothing known", Means::refused);
  }
}

TEST_CASE("a code of the server does not decide against a status", "[llm][errors][X19]") {
  check({
      {"401", 401, R"({"error":{"message":"x","type":"server_error"}})", Means::refused},
      {"403", 403, R"({"error":{"message":"x","code":"rate_limit_exceeded"}})", Means::refused},
      {"a gateway's own type", 400, R"({"error":{"message":"bad tool","type":"upstream_error"}})",
       Means::refused},
      {"503", 503, R"({"error":{"message":"x","type":"invalid_request_error","code":400}})", Means::passing},
      {"a body says otherwise", 429, R"({"error":{"message":"x","code":401}})", Means::passing},
  });
}

TEST_CASE("x-should-retry decides whether a call is tried again", "[llm][errors][X19]") {
  const Fields yes{{"x-should-retry", "true"}}, no{{"x-should-retry", "false"}},
      odd{{"x-should-retry", "maybe"}};
  const std::string plain = R"({"error":{"message":"x"}})";
  check({
      {"yes", 400, plain, Means::passing, 0ms, yes},
      {"yes, in capitals", 401, plain, Means::passing, 0ms, {{"x-should-retry", "True"}}},
      {"no: another route may", 500, plain, Means::model, 0ms, no},
      {"no, and it was refused", 400, plain, Means::refused, 0ms, no},
      {"odd", 500, plain, Means::passing, 0ms, odd},
      {"a used-up account stays one", 402, plain, Means::account, 0ms, yes},
      {"a full context stays one", 413, plain, Means::model, 0ms, yes},
  });
}

TEST_CASE("an error in the form of a stream is read under any status", "[llm][errors]") {
  for (const WireFormat* format : {&openai_chat(), &anthropic_messages(), &openai_responses()})
    for (const std::string& body : {event(R"({"error":{"message":"no such plan"}})"),
                                    event(R"({"error":{"message":"no such plan"}})", "error"),
                                    "\n: hi\n\n" + event(R"({"error":"no such plan"})"),
                                    std::string(R"(data: {"error":{"message":"no such plan"}})")})
      for (const std::size_t piece : pieces) {
        CAPTURE(body, piece);
        const ChatRecord heard = answered({"", 400, body, Means::refused}, *format, piece);
        REQUIRE(heard.failed_with(Errc::api_error));
        CHECK(heard.error().message == "HTTP 400: no such plan");
      }
}

TEST_CASE("an error is read also where the blank line behind it is missing", "[llm][errors]") {
  const std::string error = R"({"error":{"message":"upstream overloaded","type":"server_error","code":503}})";
  for (const std::string& rest : {"data: " + error + "\n", "data: " + error, "data:" + error + "\r",
                                  "event: error\r\ndata: " + error + "\r\n"})
    for (const Errc end : {Errc::none, Errc::network_error})
      for (const std::size_t size : pieces) {
        CAPTURE(rest, size);
        CallFixture fixture;
        fixture.call->on_head({.status = 200, .content_type = all_events});
        const std::string body = piece("Half") + rest;
        for (std::size_t at = 0; at < body.size(); at += size == 0 ? body.size() : size)
          fixture.call->on_body(std::string_view(body).substr(at, size == 0 ? body.size() : size));
        const ChatRecord heard = fixture.end(end);
        REQUIRE(heard.failed_with(Errc::api_error));
        CHECK(heard.error().message == "upstream overloaded");
        CHECK(heard.error().retryable);
        CHECK(heard.text() == "Half");
      }
  const std::string half = piece("Half") + "data: " + error.substr(0, 30);
  CHECK(CallFixture().answer(200, all_events, half).failed_with(Errc::network_error));
  const std::string text = piece("Half") + R"(data: {"choices":[{"delta":{"content":" more"}}]})";
  const ChatRecord heard = CallFixture().answer(200, all_events, text);
  CHECK(heard.failed_with(Errc::network_error));
  CHECK(heard.text() == "Half more");
}

TEST_CASE("an error that says nothing beside a good answer is none", "[llm][errors]") {
  for (const char* none : {"{}", "null", "\"\"", "[]", "false", "{ }", R"({"code":null,"message":null})",
                           R"({"code":0,"message":"","type":""})"}) {
    CAPTURE(none);
    const std::string error = R"("error":)" + std::string(none);
    CallFixture chat(false), chunks, blocks(false, 1 << 20, 1 << 20, anthropic_messages()),
        items(false, 1 << 20, 1 << 20, openai_responses());
    CHECK(chat.answer(200, json_type,
                      R"({"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],)" + error + "}")
              .completed());
    const std::string chunk =
        R"(data: {"choices":[{"delta":{"content":"Hi"},)" + error + "}]," + error + "}\n\n";
    const std::string empty = R"(data: {"choices":[],)" + error + "}\n\n";
    CHECK(chunks.answer(200, all_events, empty + chunk + chunk + finish_chunk + done_chunk).text() == "HiHi");
    CHECK(chunks.heard.completed());
    CHECK(
        blocks
            .answer(200, json_type,
                    R"({"type":"message","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn",)" +
                        error + "}")
            .completed());
    CHECK(items
              .answer(200, json_type,
                      R"({"status":"completed","output":[{"type":"message","content":[{"type":"output_text",)"
                      R"("text":"Hi"}]}],)" +
                          error + "}")
              .completed());
    const auto check_events = [](const WireFormat& format, const std::vector<std::string>& events) {
      CallFixture stream(true, 1 << 20, 1 << 20, format);
      std::string body;
      for (const std::string& event : events) body += "data: " + event + "\n\n";
      CHECK(stream.answer(200, all_events, body).text() == "Hi");
      CHECK(stream.heard.completed());
    };
    const auto with = [&](const std::string& members) { return "{" + members + "," + error + "}"; };
    const auto turned = [&](const std::string& members) { return "{" + error + "," + members + "}"; };
    for (const auto& say : {std::function(with), std::function(turned)}) {
      check_events(
          anthropic_messages(),
          {say(R"("type":"message_start","message":{"id":"m","role":"assistant","content":[]})"),
           say(R"("type":"ping")"),
           say(R"("type":"content_block_start","index":0,"content_block":{"type":"text","text":""})"),
           say(R"("type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"})"),
           say(R"("type":"content_block_stop","index":0)"),
           say(R"("type":"message_delta","delta":{"stop_reason":"end_turn"})"),
           say(R"("type":"message_stop")")});
      const std::string item = R"("output_index":0,"item":{"type":"message","id":"m","content":[]})";
      check_events(openai_responses(),
                   {say(R"("type":"response.created","response":{"status":"in_progress","output":[]})"),
                    say(R"("type":"response.in_progress","response":{"status":"in_progress"})"),
                    say(R"("type":"response.output_item.added",)" + item), say(R"("type":"keepalive")"),
                    say(R"("type":"response.output_text.delta","output_index":0,"delta":"Hi")"),
                    say(R"("type":"response.output_text.annotation.added","output_index":0)"),
                    say(R"("type":"response.output_item.done",)" + item),
                    say(R"("type":"response.completed","response":{"status":"completed","output":[]})")});
      check_events(openai_chat(), {say(R"("id":"c","object":"chat.completion.chunk","choices":[])"),
                                   say(R"("choices":[{"delta":{"content":"Hi"}}])"),
                                   say(R"("choices":[{"delta":{},"finish_reason":"stop"}])"),
                                   say(R"("id":"c","usage":{"prompt_tokens":1})")});
    }
  }
}

TEST_CASE("an event of errors is an error, also one that says nothing", "[llm][errors]") {
  for (const char* const event : {R"({"type":"error","error":{}})", R"({"error":{},"type":"error"})"})
    for (const WireFormat* format : {&anthropic_messages(), &openai_responses(), &openai_chat()}) {
      CAPTURE(event);
      CallFixture stream(true, 1 << 20, 1 << 20, *format);
      CHECK(stream.answer(200, all_events, "data: " + std::string(event) + "\n\n")
                .failed_with(Errc::api_error));
    }
}

TEST_CASE("an error that is not understood is shown whole", "[llm][errors]") {
  const auto message = [](std::string_view body) {
    return CallFixture(false).answer(200, json_type, body).error().message;
  };
  CHECK(message(R"({"error":{"reason_of_failure":"the moon","code":7}})") ==
        R"({"reason_of_failure":"the moon","code":7})");
  CHECK(message(R"({"error":["a","b"]})") == R"(["a","b"])");
  CHECK(message(R"({"error":{"code":418}})") == "an error of status 418, without a message");
  CHECK(message(R"({"error":{"note":")" + api_key_in_test + "\"}}") == R"({"note":"[api key]"})");
  CHECK(message(R"({"error":true,"message":"the moon"})") == "the moon");
}

TEST_CASE("an empty answer is retryable in each form", "[llm][errors][X19]") {
  for (const WireFormat* format : {&openai_chat(), &anthropic_messages(), &openai_responses()}) {
    const auto retryable = [&](bool stream, const std::string& type, std::string_view body) {
      CallFixture fixture(stream, 1 << 20, 1 << 20, *format);
      const ChatRecord& heard = fixture.answer(200, type, body);
      REQUIRE(heard.outcomes.at(0).kind == ChatOutcome::Kind::failed);
      return heard.error().retryable;
    };
    CHECK(retryable(false, json_type, ""));
    CHECK(retryable(false, json_type, " \r\n"));
    CHECK(retryable(true, json_type, ""));
    CHECK(retryable(true, all_events, ""));
    CHECK(retryable(true, all_events, done_chunk));
    CHECK_FALSE(retryable(false, "text/html", "<html>"));
    CHECK_FALSE(retryable(false, json_type, "{}"));
  }
}
