// Against aimock, a chat completions server of another project. scripts/check-peers starts it and runs
// these.
#include "integration/peers/peer_talk.hpp"
#include "support/catch.hpp"

#include <agentcore/agentcore.hpp>
#include <agentcore/http.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using test::aimock;
using test::Talk;

TEST_CASE("aimock: an answer is streamed and assembled", "[.aimock][integration]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("hello");
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(end.result->finish_reason == FinishReason::complete);
  CHECK(talk.answer == "Hello from a server that nobody here wrote: ä, привет, 🏖.");
  CHECK(talk.text == talk.answer);
  CHECK(talk.deltas > 1);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}

TEST_CASE("aimock: a finish reason is translated", "[.aimock][integration]") {
  Talk talk(aimock());
  CHECK(talk.ask("length").result->finish_reason == FinishReason::length);
}

TEST_CASE("aimock: errors of the API keep status and text and whether to retry", "[.aimock][integration]") {
  Talk talk(aimock());
  const TurnEnded limited = talk.ask("limit");
  CHECK(limited.result->outcome == TurnOutcome::failed);
  CHECK(limited.result->error.code == Errc::api_error);
  CHECK(limited.result->error.http_status == 429);
  CHECK(limited.result->error.retryable);
  CHECK(limited.result->error.message.find("slow down") != std::string::npos);
  const TurnEnded broken = talk.ask("broken");
  CHECK(broken.result->error.http_status == 503);
  CHECK(broken.result->error.retryable);
}

TEST_CASE("aimock: a truncated answer fails and leaves a valid history", "[.aimock][integration][G8]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("cut");
  CHECK(end.result->outcome == TurnOutcome::failed);
  const auto history = talk.agent.conversation().value();
  REQUIRE(history.size() == 1);
  CHECK(history.front().interruption == Interruption::failed);
}

TEST_CASE("aimock: a malformed answer is an invalid_response", "[.aimock][integration]") {
  Talk talk(aimock({"x-aimock-chaos-malformed: 1"}));
  const TurnEnded& end = talk.ask("hello");
  CHECK(end.result->outcome == TurnOutcome::failed);
  CHECK_FALSE(end.result->error.message.empty());
}

TEST_CASE("aimock: a stop in a stream ends the call and nothing follows", "[.aimock][integration][G5][G7]") {
  Talk talk(aimock());
  talk.on_delta = [&talk](const Agent& agent) {
    if (talk.deltas == 2) CHECK(agent.stop().took_effect());
  };
  const TurnEnded& end = talk.ask("drip");
  CHECK(end.result->outcome == TurnOutcome::stopped);
  CHECK(talk.deltas == 2);
  CHECK(talk.llm.open_calls() == 0);
  CHECK(talk.agent.state().value() == AgentState::stopped);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}

namespace {

// One model call with tools, without an agent.
struct ToolTalk {
  ChatOutcome ask(const std::string& question, bool stream = true) {
    ChatRequest request;
    request.messages = {ChatMessage::user(question)};
    request.tools = {
        {"weather", "The weather in a city.", R"({"type":"object","properties":{"city":{"type":"string"}}})"},
        {"clock", "The time.", ""}};
    request.stream = stream;
    return chat(std::move(request));
  }
  ChatOutcome chat(ChatRequest request) {
    ChatOutcome outcome;
    text.clear();
    llm.chat(std::move(request), {},
             ChatSink([this](std::string_view delta) { text += delta; },
                      [&outcome](ChatOutcome ended) { outcome = std::move(ended); }));
    REQUIRE(runtime.run_until_idle(std::chrono::seconds(20)));
    return outcome;
  }

  Runtime runtime;
  HttpLlmClient llm{runtime, aimock()};
  std::string text;
};

}  // namespace

TEST_CASE("aimock: parallel tool calls are assembled", "[.aimock][integration][tools]") {
  for (const bool stream : {true, false}) {
    INFO("stream: " << stream);
    ToolTalk talk;
    const ChatOutcome outcome = talk.ask("parallel", stream);
    CHECK(outcome.kind == ChatOutcome::Kind::completed);
    CHECK(outcome.finish_reason == FinishReason::tool_calls);
    CHECK(outcome.tool_calls ==
          std::vector<ToolCall>{{"call_w", "weather", "{\"city\":\"Troms\xC3\xB8\"}"},
                                {"call_c", "clock", "{}"},
                                {"call_r", "weather", R"({"city":"Rome","days":[1,2]})"}});
  }
}

TEST_CASE("aimock: arguments that are not JSON arrive unchanged", "[.aimock][integration][tools]") {
  for (const bool stream : {true, false}) {
    ToolTalk talk;
    CHECK(talk.ask("bad arguments", stream).tool_calls ==
          std::vector<ToolCall>{{"call_b", "weather", R"({"city": Rome)"}});
  }
}

TEST_CASE("aimock: an answer may have text and tool calls", "[.aimock][integration][tools]") {
  ToolTalk talk;
  const ChatOutcome outcome = talk.ask("words and calls");
  CHECK(talk.text == "Let me see.");
  CHECK(outcome.tool_calls == std::vector<ToolCall>{{"call_m", "clock", "{}"}});
}

TEST_CASE("aimock: an answer of calls alone and its results are accepted", "[.aimock][integration][tools]") {
  ToolTalk talk;
  ChatRequest request;
  ChatMessage calling = ChatMessage::assistant("");
  calling.append(std::vector<ToolCall>{{"call_1", "clock", "{}"}});
  ChatMessage result = ChatMessage::tool_result({}, "noon");
  result.tool_call_id = "call_1";
  request.messages = {ChatMessage::user("hello"), calling, result};
  CHECK(talk.chat(std::move(request)).kind == ChatOutcome::Kind::completed);
  CHECK(talk.text.starts_with("Hello"));
}

namespace {

// Agents that can add, on threads of a pool, two sums at once.
AgentSpec adder() {
  ToolSpec add{.name = "add", .description = "Adds two numbers."};
  add.parameters =
      R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]})";
  AgentSpec spec{.system_prompt = "Be brief.", .limits = {.parallel_tools = 2}};
  spec.tools = std::make_shared<ToolRegistry>();
  spec.tools->add(make_blocking_tool(
      std::move(add), std::make_shared<ThreadPool>(2),
      [](const nlohmann::json& arguments, const ToolContext&) {
        return ToolResult::done(std::to_string(arguments["a"].get<int>() + arguments["b"].get<int>()));
      }));
  return spec;
}

std::vector<std::string> results_of(const TurnResult& result) {
  std::vector<std::string> results;
  for (const ToolCallRecord& step : result.calls) results.push_back(step.call_id + "=" + step.message);
  return results;
}

}  // namespace

TEST_CASE("aimock: a turn of three answers with parallel calls", "[.aimock][integration][tools][turn]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("three sums", adder());
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "It is 37.");
  REQUIRE(end.result);
  CHECK(results_of(*end.result) == std::vector<std::string>{"sum_1=3", "sum_2=34", "sum_3=37"});
  CHECK(talk.agent.conversation().value().size() == 8);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}

TEST_CASE("aimock: a model receives the error of its bad arguments", "[.aimock][integration][tools][turn]") {
  Talk talk(aimock());
  const TurnEnded& end = talk.ask("learn from a mistake", adder());
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "It is 3 after all.");
  REQUIRE(end.result->calls.size() == 2);
  CHECK_FALSE(end.result->calls[0].success);
  CHECK(end.result->calls[1].success);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}

TEST_CASE("aimock: tools work by the text protocol", "[.aimock][integration][tools][turn]") {
  Talk talk(aimock());
  AgentSpec spec = adder();
  spec.tool_protocol = ToolProtocol::text;
  const TurnEnded& end = talk.ask("sum in words", std::move(spec));
  CHECK(end.result->outcome == TurnOutcome::completed);
  CHECK(talk.answer == "It is 4.");
  CHECK(end.result->calls.size() == 1);
}

TEST_CASE("aimock: a stop in the answer after the tools ends the turn",
          "[.aimock][integration][tools][turn][G7][G8]") {
  Talk talk(aimock());
  talk.on_delta = [](const Agent& agent) { CHECK(agent.stop().took_effect()); };
  const TurnEnded& end = talk.ask("sum and talk", adder());
  CHECK(end.result->outcome == TurnOutcome::stopped);
  CHECK(talk.deltas == 1);
  CHECK(results_of(*end.result) == std::vector<std::string>{"talk_1=10"});
  CHECK(talk.llm.open_calls() == 0);
  CHECK(is_valid_history(talk.agent.conversation().value()));
}
