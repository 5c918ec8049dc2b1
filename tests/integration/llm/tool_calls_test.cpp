// Native tool calls against the stand-in server, over HTTP.
#include "standin/server_thread.hpp"
#include "support/catch.hpp"
#include "support/drive/net_fixture.hpp"
#include "support/observe/chat_record.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>

#include <string>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using Calls = std::vector<ToolCall>;

constexpr const char* weather_question =
    "What is the weather?\n"
    "/call weather {\"city\":\"Troms\xC3\xB8, \\\"north\\\"\"}\n"
    "/call clock\n"
    "/call weather {\"city\": Rome\n";

const Calls weather_calls = {{"call_1_1", "weather", "{\"city\":\"Troms\xC3\xB8, \\\"north\\\"\"}"},
                             {"call_1_2", "clock", ""},
                             {"call_1_3", "weather", "{\"city\": Rome"}};

struct ToolFixture {
  explicit ToolFixture(std::vector<std::string> headers = {}) {
    headers.insert(headers.end(), {"x-standin-rate: 0", "x-standin-first-token-ms: 0"});
    llm = std::make_unique<HttpLlmClient>(
        runtime,
        HttpLlmOptions{.base_url = server->base_url(), .model = "m", .headers = headers, .proxy = "none"});
  }

  ChatRequest question() const {
    ChatRequest request = ask("a", weather_question);
    request.tools = {{"weather", "The weather in a city.",
                      R"({"type":"object","properties":{"city":{"type":"string"}},"required":["city"]})"},
                     {"clock", "The time.", ""}};
    return request;
  }
  const ChatOutcome& chat(ChatRequest request) {
    heard = {};
    llm->chat(std::move(request), stop.get_token(), heard.sink());
    REQUIRE(drive(runtime, nullptr, [this] { return heard.ended(); }));
    return heard.outcomes.at(0);
  }

  standin::ServerThread server;
  Runtime runtime;
  StopSource stop;
  ChatRecord heard;
  std::unique_ptr<HttpLlmClient> llm;
};

}  // namespace

TEST_CASE("streamed tool calls are read in the style of every server", "[openai][tools][integration]") {
  for (const std::string style : {"pieces", "interleaved", "whole", "no-index", "object"}) {
    INFO(style);
    ToolFixture f({"x-standin-calls: " + style});
    const ChatOutcome& outcome = f.chat(f.question());
    CHECK(outcome.kind == ChatOutcome::Kind::completed);
    CHECK(outcome.finish_reason == FinishReason::tool_calls);
    CHECK(outcome.tool_calls == weather_calls);
    CHECK(f.heard.deltas.empty());
  }
}

TEST_CASE("tool calls are read from an answer without streaming", "[openai][tools][integration]") {
  for (const std::string style : {"pieces", "object"}) {
    INFO(style);
    ToolFixture f({"x-standin-calls: " + style});
    ChatRequest request = f.question();
    request.stream = false;
    const ChatOutcome& outcome = f.chat(std::move(request));
    CHECK(outcome.finish_reason == FinishReason::tool_calls);
    CHECK(outcome.tool_calls == weather_calls);
  }
}

TEST_CASE("the results of tool calls are sent back and a text answer follows",
          "[openai][tools][integration]") {
  ToolFixture f;
  ChatRequest request = f.question();
  ChatMessage calling = ChatMessage::assistant("");
  calling.append(std::vector<ToolCall>(f.chat(f.question()).tool_calls));
  request.messages.push_back(calling);
  for (const ToolCall& call : calling.tool_calls()) {
    ChatMessage result = ChatMessage::tool_result({}, "fine");
    result.tool_call_id = call.id;
    request.messages.push_back(std::move(result));
  }
  const ChatOutcome& outcome = f.chat(std::move(request));
  CHECK(outcome.finish_reason == FinishReason::complete);
  CHECK(outcome.tool_calls.empty());
  CHECK(f.heard.text().starts_with("You said:"));
}

TEST_CASE("a request without tools gets a text answer", "[openai][tools][integration]") {
  ToolFixture f;
  ChatRequest request = f.question();
  request.tools.clear();
  CHECK(f.chat(std::move(request)).tool_calls.empty());
  CHECK_FALSE(f.heard.deltas.empty());
}

TEST_CASE("tool calls of a truncated stream are dropped", "[openai][tools][integration]") {
  ToolFixture f({"x-standin-fault: close-mid-stream"});
  const ChatOutcome& outcome = f.chat(f.question());
  CHECK(outcome.error.code == Errc::network_error);
  CHECK(outcome.tool_calls.empty());
}

TEST_CASE("a stop during tool calls delivers none", "[openai][tools][integration][G7]") {
  ToolFixture f({"x-standin-fault: hang-mid-stream"});
  f.llm->chat(f.question(), f.stop.get_token(), f.heard.sink());
  REQUIRE(drive(f.runtime, nullptr, [&f] { return f.server->stats().tokens > 3; }));
  f.stop.request_stop();
  REQUIRE(drive(f.runtime, nullptr, [&f] { return f.heard.ended(); }));
  CHECK(f.heard.cancelled());
  CHECK(f.heard.outcomes.at(0).tool_calls.empty());
  CHECK(f.server->wait_until([](const standin::Stats& stats) { return stats.client_closed == 1; }));
}
