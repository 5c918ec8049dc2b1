// What servers that call themselves OpenAI-compatible really send, one answer each.
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Calls = std::vector<ToolCall>;

// One event after the other, each with `data: ` before it unless it begins with a field's name of its own.
std::string events(const std::vector<std::string>& lines) {
  std::string stream;
  for (const std::string& line : lines) stream += (line.starts_with('{') ? "data: " : "") + line + "\n\n";
  return stream;
}

std::string delta(const std::string& members, const std::string& finish = "null") {
  return R"({"id":"c-1","object":"chat.completion.chunk","created":1754600000,"model":"m","choices":[{"index":0,"delta":{)" +
         members + R"(},"finish_reason":)" + finish + "}]}";
}

std::vector<std::string> kept(const ChatOutcome& outcome) {
  std::vector<std::string> all;
  for (const ReasoningBlock& block : outcome.reasoning) all.push_back(block.data);
  return all;
}

struct Said {
  const char* server;
  std::string body;
  std::string text = {};
  std::string reasoning = {};
  FinishReason finish_reason = FinishReason::complete;
  Calls tool_calls = {};
  Usage usage = {};
  std::optional<double> cost = {};
  std::string type = all_events;
  std::vector<std::string> kept = {};  // of its reasoning, to be sent back
};

void check(const Said& expected) {
  INFO(expected.server);
  CallFixture fixture;
  const ChatRecord& heard = fixture.answer(200, expected.type, expected.body);
  REQUIRE(heard.completed());
  const ChatOutcome& outcome = heard.outcomes[0];
  CHECK(heard.text() == expected.text);
  CHECK(heard.reasoning == expected.reasoning);
  CHECK(outcome.finish_reason == expected.finish_reason);
  CHECK(outcome.tool_calls == expected.tool_calls);
  CHECK(outcome.cost == expected.cost);
  if (!expected.kept.empty()) CHECK(kept(outcome) == expected.kept);
  Usage usage = expected.usage;
  usage.complete = usage.total_tokens != 0;
  CHECK(outcome.usage == usage);
}

struct Refused {
  const char* server;
  std::string body;
  std::string message;
  bool retryable = false;
  int status = 200;
  std::string text = {};  // that came before
  std::string type = all_events;
  Errc code = Errc::api_error;
};

void check(const Refused& expected) {
  INFO(expected.server << ": " << expected.body);
  CallFixture fixture;
  const ChatRecord& heard = fixture.answer(expected.status, expected.type, expected.body);
  REQUIRE(heard.failed_with(expected.code));
  CHECK(heard.text() == expected.text);
  CHECK(heard.error().message == expected.message);
  CHECK(heard.error().retryable == expected.retryable);
  CHECK(heard.error().http_status == expected.status);
}

}  // namespace

TEST_CASE("servers: OpenRouter", "[llm][openai][servers]") {
  check(Said{
      .server = "comments, reasoning twice, cost",
      .body = events(
          {": OPENROUTER PROCESSING", ": OPENROUTER PROCESSING",
           R"({"id":"gen-1","provider":"Anthropic","model":"anthropic/claude-sonnet-4","object":"chat.completion.chunk","created":1,)"
           R"("choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Let me","reasoning_details":)"
           R"([{"type":"reasoning.text","text":"Let me","format":"anthropic-claude-v1","index":0}]},"finish_reason":null,)"
           R"("native_finish_reason":null,"logprobs":null}]})",
           delta(
               R"("role":"assistant","content":"","reasoning":" see.","reasoning_details":[{"type":"reasoning.text","text":" see."}])"),
           delta(R"("role":"assistant","content":"Hi")"),
           delta(R"("role":"assistant","content":"")", "\"stop\""),
           R"({"id":"gen-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],)"
           R"("usage":{"prompt_tokens":5,"completion_tokens":4,"total_tokens":9,"cost":0.00042,"is_byok":false,)"
           R"("prompt_tokens_details":{"cached_tokens":2},"cost_details":{"upstream_inference_cost":null},)"
           R"("completion_tokens_details":{"reasoning_tokens":3}}})",
           "data: [DONE]"}),
      .text = "Hi",
      .reasoning = "Let me see.",
      .usage = {5, 4, 9, 2, 3},
      .cost = 0.00042});
  check(Refused{
      .server = "an error beside the choice",
      .body = events(
          {delta(R"("content":"H")"),
           R"({"id":"c","provider":"openai","error":{"code":"server_error","message":"Provider disconnected"},)"
           R"("choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]})"}),
      .message = "Provider disconnected",
      .retryable = true,
      .text = "H"});
  check(Refused{
      .server = "an error in the choice",
      .body = events({R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error",)"
                      R"("error":{"code":402,"message":"Insufficient credits","metadata":{"a":[1]}}}]})",
                      "data: [DONE]"}),
      .message = "Insufficient credits",
      .code = Errc::account_exhausted});
  check(Refused{
      .server = "a failure without an error",
      .body = events({delta(R"("content":"H")"), delta(R"("content":"")", "\"error\""), "data: [DONE]"}),
      .message = "The provider gave the answer up (it ended with \"error\")",
      .retryable = true,
      .text = "H"});
}

TEST_CASE("servers: vLLM", "[llm][openai][servers]") {
  const std::string usage = R"(,"usage":{"prompt_tokens":7,"total_tokens":9,"completion_tokens":2}})";
  check(Said{
      .server = "usage in every chunk, empty pieces and reasons",
      .body = events(
          {R"({"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],)"
           R"("usage":{"prompt_tokens":7,"total_tokens":7,"completion_tokens":0}})",
           R"({"choices":[{"index":0,"delta":{"reasoning_content":"Hm","content":null},"finish_reason":""}],)"
           R"("usage":{"prompt_tokens":7,"total_tokens":8,"completion_tokens":1}})",
           R"({"choices":[{"index":0,"delta":{"content":""}}]})",
           R"({"choices":[{"index":0,"delta":{"content":"Hi","reasoning_content":null}}]})",
           R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","stop_reason":null}])" +
               usage,
           R"({"choices":[])" + usage, "data: [DONE]"}),
      .text = "Hi",
      .reasoning = "Hm",
      .usage = {7, 2, 9}});
  check(Refused{
      .server = "an error as the whole event",
      .body = events(
          {delta(R"("content":"H")"),
           R"({"object":"error","message":"EngineCore died","type":"InternalServerError","param":null,"code":500})",
           "data: [DONE]"}),
      .message = "EngineCore died",
      .retryable = true,
      .text = "H"});
  check(Refused{
      .server = "a refused request",
      .body =
          R"({"error":{"message":"max_tokens is too large","type":"BadRequestError","param":null,"code":400}})",
      .message = "HTTP 400: max_tokens is too large",
      .status = 400,
      .type = json_type});
}

TEST_CASE("servers: llama.cpp", "[llm][openai][servers]") {
  check(Said{
      .server = "timings, calls in pieces",
      .body = events(
          {R"({"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1,"id":"c",)"
           R"("model":"qwen","system_fingerprint":"b6100","object":"chat.completion.chunk"})",
           delta(R"("reasoning_content":"Look.")"),
           delta(
               R"("tool_calls":[{"index":0,"id":"aX1","type":"function","function":{"name":"look","arguments":"{"}}])"),
           delta(R"("tool_calls":[{"index":0,"function":{"arguments":"\"at\":"}}])"),
           delta(R"("tool_calls":[{"index":0,"function":{"arguments":"\"sea\"}"}}])"),
           delta("", "\"tool_calls\""),
           R"({"choices":[],"usage":{"completion_tokens":9,"prompt_tokens":3,"total_tokens":12},"timings":)"
           R"({"prompt_n":3,"prompt_ms":12.5,"predicted_n":9,"predicted_per_second":43.1}})",
           "data: [DONE]"}),
      .reasoning = "Look.",
      .finish_reason = FinishReason::tool_calls,
      .tool_calls = {{"aX1", "look", R"({"at":"sea"})"}},
      .usage = {3, 9, 12}});
  const std::string error = R"({"code":500,"message":"Failed to parse input","type":"server_error"})";
  for (const std::string& line :
       {"{\"error\":" + error + "}", "error: " + error, "error: {\"error\":" + error + "}"})
    check(Refused{.server = "errors inside a stream",
                  .body = events({delta(R"("content":"H")"), line}),
                  .message = "Failed to parse input",
                  .retryable = true,
                  .text = "H"});
}

TEST_CASE("servers: Ollama", "[llm][openai][servers]") {
  const Calls calls = {{"", "look", R"({"at":"sea"})"}, {"", "look", R"({"at":"sky"})"}};
  const auto call = [](const std::string& id, const std::string& at) {
    return delta(R"("role":"assistant","content":"","tool_calls":[{)" + id +
                 R"("index":0,"type":"function","function":{"name":"look","arguments":"{\"at\":\")" + at +
                 "\\\"}\"}}]");
  };
  check(Said{
      .server = "reasoning, index 0 for every call, no ids",
      .body = events({delta(R"("role":"assistant","content":"","reasoning":"Okay")"), call("", "sea"),
                      call("", "sky"), delta(R"("role":"assistant","content":"")", "\"tool_calls\""),
                      R"({"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6,"total_tokens":11}})",
                      "data: [DONE]"}),
      .reasoning = "Okay",
      .finish_reason = FinishReason::tool_calls,
      .tool_calls = calls,
      .usage = {5, 6, 11}});
  check(Said{.server = "index 0, ids, and \"stop\" where tools are to be called",
             .body = events({call(R"("id":"call_1",)", "sea"), call(R"("id":"call_2",)", "sky"),
                             delta(R"("content":"")", "\"stop\"")}),
             .finish_reason = FinishReason::tool_calls,
             .tool_calls = {{"call_1", "look", calls[0].arguments}, {"call_2", "look", calls[1].arguments}}});
}

TEST_CASE("servers: LM Studio", "[llm][openai][servers]") {
  check(Refused{.server = "an event of its own for errors",
                .body = events({delta(R"("content":"H")"),
                                "event: error\ndata: {\"error\":{\"message\":\"The model has crashed\"}}"}),
                .message = "The model has crashed",
                .text = "H"});
  check(Refused{.server = "an error that is a text",
                .body = events({"event: error\ndata: {\"error\":\"Model unloaded\"}"}),
                .message = "Model unloaded"});
  check(Said{
      .server = "statistics beside the choices",
      .body = events(
          {delta(R"("role":"assistant","content":"Hi")"), delta("", "\"stop\""),
           R"({"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3},"stats":{}})",
           "data: [DONE]"}),
      .text = "Hi",
      .usage = {1, 2, 3}});
}

TEST_CASE("servers: Azure", "[llm][openai][servers]") {
  const std::string filter = R"("content_filter_results":{"hate":{"filtered":false,"severity":"safe"}})";
  const std::string first =
      R"({"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,)" +
      filter + "}]}";
  const auto choice = [&](const std::string& members, const std::string& finish) {
    return R"({"choices":[{)" + filter + R"(,"delta":{)" + members + R"(},"finish_reason":)" + finish +
           R"(,"index":0,"logprobs":null}],"created":1,"id":"c","model":"gpt-5","object":"chat.completion.chunk"})";
  };
  check(Said{
      .server = "filter results",
      .body = events(
          {first, choice(R"("content":"","role":"assistant")", "null"), choice(R"("content":"Hi")", "null"),
           choice("", "\"stop\""),
           R"({"choices":[{"content_filter_offsets":{"check_offset":1},"content_filter_results":{},"finish_reason":null,"index":0}]})",
           "data: [DONE]"}),
      .text = "Hi"});
  check(Said{.server = "an answer that was cut by the filter",
             .body = events({first, choice(R"("content":"Hi")", "null"), choice("", "\"content_filter\""),
                             "data: [DONE]"}),
             .text = "Hi",
             .finish_reason = FinishReason::content_filter});
  check(Refused{
      .server = "a question that the filter refused",
      .body =
          R"({"error":{"message":"The prompt triggered the content policy.","type":null,"param":"prompt",)"
          R"("code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}})",
      .message = "HTTP 400: The prompt triggered the content policy.",
      .status = 400,
      .type = json_type});
}

TEST_CASE("servers: Mistral", "[llm][openai][servers]") {
  check(Said{
      .server = "an answer in parts",
      .body = events(
          {delta(R"("role":"assistant","content":"")"),
           delta(
               R"("content":[{"type":"thinking","thinking":[{"type":"reference","reference_ids":[1]},{"type":"text","text":"Hm, "},{"type":"text","text":"so"}]}])"),
           delta(
               R"("content":[{"type":"thinking","thinking":[{"type":"text","text":"."}]},{"type":"text","text":"H"}])"),
           delta(R"("content":"i")"),
           delta(
               R"("content":"","tool_calls":[{"id":"D681PevKs","function":{"name":"look","arguments":"{}"},"index":0}])"),
           R"({"choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"total_tokens":3,"completion_tokens":2}})",
           "data: [DONE]"}),
      .text = "Hi",
      .reasoning = "Hm, so.",
      .finish_reason = FinishReason::tool_calls,
      .tool_calls = {{"D681PevKs", "look", "{}"}},
      .usage = {1, 2, 3}});
  check(Said{.server = "the end of the model's context",
             .body = events({delta(R"("content":"Hi")"), delta("", "\"model_length\"")}),
             .text = "Hi",
             .finish_reason = FinishReason::length});
  check(Refused{
      .server = "a refused key",
      .body = R"({"message":"Unauthorized","request_id":"1f"})",
      .message =
          "HTTP 401: Unauthorized (check the key: HttpLlmOptions::api_key, api_key_env or api_key_source)",
      .status = 401,
      .type = json_type});
  check(Refused{
      .server = "a request that is not as it should be",
      .body =
          R"({"object":"error","message":{"detail":[{"loc":["body"],"msg":"Field required"}]},"type":"invalid_request_error"})",
      .message = "HTTP 422: body: Field required",
      .status = 422,
      .type = json_type});
}

TEST_CASE("servers: DeepSeek", "[llm][openai][servers]") {
  check(Said{
      .server = "comments to keep the connection, the cache's hits",
      .body = events(
          {": keep-alive", ": keep-alive",
           delta(R"("role":"assistant","content":null,"reasoning_content":"")"),
           delta(R"("content":null,"reasoning_content":"Hm")"), ": keep-alive",
           delta(R"("content":"Hi","reasoning_content":null)"),
           R"({"choices":[{"index":0,"delta":{"content":"","reasoning_content":null},"finish_reason":"stop"}],)"
           R"("usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14,"prompt_cache_hit_tokens":8,)"
           R"("prompt_cache_miss_tokens":1,"completion_tokens_details":{"reasoning_tokens":4}}})",
           "data: [DONE]"}),
      .text = "Hi",
      .reasoning = "Hm",
      .usage = {9, 5, 14, 8, 4}});
  check(Said{
      .server = "thoughts before a call, which it wants back",
      .body = events(
          {delta(R"("role":"assistant","content":null,"reasoning_content":"")"),
           delta(R"("content":null,"reasoning_content":"I have")"),
           delta(R"("content":null,"reasoning_content":" to look.")"),
           delta(
               R"("content":"","reasoning_content":null,"tool_calls":[{"index":0,"id":"call_00_a","type":"function","function":{"name":"look","arguments":""}}])"),
           delta(R"("tool_calls":[{"index":0,"function":{"arguments":"{}"}}])"),
           delta(R"("content":"","reasoning_content":null)", "\"tool_calls\""), "data: [DONE]"}),
      .reasoning = "I have to look.",
      .finish_reason = FinishReason::tool_calls,
      .tool_calls = {{"call_00_a", "look", "{}"}},
      .kept = {R"({"reasoning_content":"I have to look."})"}});
  check(Said{.server = "blank lines before an answer that is no stream",
             .body = "\n\n\n"
                     R"({"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]})",
             .text = "Hi",
             .type = json_type});
  check(Refused{.server = "no resources left",
                .body = events({delta(R"("content":"H")"),
                                delta(R"("content":"")", "\"insufficient_system_resource\"")}),
                .message = "The provider gave the answer up (it ended with \"insufficient_system_resource\")",
                .retryable = true,
                .text = "H"});
}

TEST_CASE("servers: Groq", "[llm][openai][servers]") {
  check(Said{
      .server = "usage under a name of its own",
      .body = events(
          {R"({"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"x_groq":{"id":"req_1"}})",
           delta(R"("reasoning":"Hm","channel":"analysis")"), delta(R"("content":"Hi")"),
           R"({"id":"c","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"x_groq":{"id":"req_1",)"
           R"("usage":{"queue_time":0.02,"prompt_tokens":3,"prompt_time":0.01,"completion_tokens":4,"total_tokens":7,"total_time":0.3}}})",
           "data: [DONE]"}),
      .text = "Hi",
      .reasoning = "Hm",
      .usage = {3, 4, 7}});
  check(Refused{.server = "an error under a name of its own",
                .body = events({delta(R"("content":"H")"),
                                R"({"choices":[],"x_groq":{"id":"req_1","error":"over capacity"}})"}),
                .message = "over capacity",
                .retryable = true,
                .text = "H"});
  check(Refused{
      .server = "an event for errors",
      .body = events({"event: error\ndata: {\"error\":{\"message\":\"Tool call validation failed\",\"type\":"
                      "\"invalid_request_error\",\"code\":\"tool_use_failed\",\"status_code\":400}}"}),
      .message = "Tool call validation failed"});
}

TEST_CASE("servers: Gemini", "[llm][openai][servers]") {
  check(Said{
      .server = "all in a few chunks, words of its own",
      .body = events(
          {R"({"choices":[{"delta":{"content":"Hi","role":"assistant"},"index":0}],"created":1,"id":"g","model":"gemini-2.5-flash","object":"chat.completion.chunk"})",
           R"({"choices":[{"delta":{"role":"assistant"},"finish_reason":"STOP","index":0}],"usage":{"completion_tokens":2,"prompt_tokens":1,"total_tokens":3}})",
           "data: [DONE]"}),
      .text = "Hi",
      .usage = {1, 2, 3}});
  const auto call = [](const std::string& extra, const std::string& id) {
    return delta(R"("role":"assistant","tool_calls":[{)" + extra +
                 R"("function":{"arguments":"{}","name":"look"},"id":")" + id + R"(","type":"function"}])");
  };
  check(Said{
      .server = "a chunk for each call, no index, the first signed",
      .body = events({call(R"("extra_content":{"google":{"thought_signature":"EjQKMg=="}},)", "f1"),
                      call("", "f2"), delta(R"("role":"assistant")", "\"stop\""), "data: [DONE]"}),
      .finish_reason = FinishReason::tool_calls,
      .tool_calls = {{"f1", "look", "{}"}, {"f2", "look", "{}"}},
      .kept = {R"({"tool_call":0,"id":"f1","extra_content":{"google":{"thought_signature":"EjQKMg=="}}})"}});
  for (const auto& [word, reason] :
       {std::pair{"MAX_TOKENS", FinishReason::length}, std::pair{"SAFETY", FinishReason::content_filter}})
    check(Said{.server = word,
               .body = events({delta(R"("content":"Hi")", "\"" + std::string(word) + "\"")}),
               .text = "Hi",
               .finish_reason = reason});
  const std::string error =
      R"([{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}])";
  check(Refused{.server = "errors in an array",
                .body = error,
                .message = "HTTP 503: The model is overloaded. (the server has failed; try again later)",
                .retryable = true,
                .status = 503,
                .type = json_type});
  check(Refused{.server = "errors in an array, over a good status",
                .body = error,
                .message = "The model is overloaded.",
                .retryable = true,
                .type = json_type});
}
