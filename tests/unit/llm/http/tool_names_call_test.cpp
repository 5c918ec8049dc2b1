// Tools whose names a server does not take: what is sent of them, and what comes back, in each dialect.
#include "support/catch.hpp"
#include "support/observe/chat_record.hpp"
#include "support/observe/recorder_lines.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <agentcore/http_llm_client.hpp>
#include <agentcore/runtime.hpp>
#include <agentcore/testing/manual_clock.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

using Names = std::vector<std::string>;

// A name of each kind: two that would be sent alike, one that looks like the other two when they are sent,
// one that is too short, one that begins with a digit, and one that is sent as it is.
const Names own_names{"get weather", "get.weather", "get_weather", "a", "1st", "look"};

std::string path_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::openai_responses:
      return "/v1/responses";
    case Dialect::anthropic_messages:
      return "/v1/messages";
    default:
      return "/v1/chat/completions";
  }
}

// A whole answer that calls these tools.
std::string calls_of(Dialect dialect, const Names& names) {
  json calls = json::array();
  for (const std::string& name : names) {
    const std::string id = "c" + std::to_string(calls.size());
    if (dialect == Dialect::openai_responses)
      calls.push_back({{"type", "function_call"}, {"call_id", id}, {"name", name}, {"arguments", "{}"}});
    else if (dialect == Dialect::anthropic_messages)
      calls.push_back({{"type", "tool_use"}, {"id", id}, {"name", name}, {"input", json::object()}});
    else
      calls.push_back(
          {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", "{}"}}}});
  }
  if (dialect == Dialect::openai_responses) return json{{"status", "completed"}, {"output", calls}}.dump();
  if (dialect == Dialect::anthropic_messages)
    return json{{"type", "message"}, {"role", "assistant"}, {"content", calls}, {"stop_reason", "tool_use"}}
        .dump();
  const json message = {{"content", nullptr}, {"tool_calls", calls}};
  return json{{"choices", {{{"finish_reason", "tool_calls"}, {"message", message}}}}}.dump();
}

// Every name of a tool in a body, in the order of the tools, and in the order of the calls.
void collect(const json& value, Names& names) {
  if (value.is_object() && value.contains("name")) names.push_back(value["name"]);
  if (value.is_structured())
    for (const json& member : value) collect(member, names);
}
Names names_in(const json& value) {
  Names names;
  collect(value, names);
  return names;
}

struct NamedTools {
  explicit NamedTools(Dialect of) : dialect(of) {
    options.base_url = "https://server.test/v1";
    options.model = "m";
    options.dialect = dialect;
    options.max_tokens = 100;
    options.tool_names_begin_with_letter = true;
    options.shortest_tool_name = 3;
    options.recorder = lines.recorder();
  }

  HttpExchange exchange(int status, std::string body) const {
    HttpExchange exchange;
    exchange.url = "https://server.test" + path_of(dialect);
    exchange.status = status;
    exchange.content_type = "application/json";
    exchange.body = {{Duration(0), std::move(body)}};
    return exchange;
  }

  // Offers the tools, in that order, behind a turn that called each of them.
  static ChatRequest request(const Names& tools) {
    ChatRequest request;
    request.agent_id = "a";
    request.stream = false;
    std::vector<ToolCall> calls;
    for (const std::string& name : own_names)
      calls.push_back({"c" + std::to_string(calls.size()), name, "{}"});
    request.messages = {ChatMessage::user("q"), answer("", calls)};
    for (const ToolCall& call : calls) request.messages.push_back(result(call.id, "r"));
    for (const std::string& name : tools) request.tools.push_back({name, "", ""});
    request.tool_choice = {ToolChoice::Mode::named, own_names[0]};
    return request;
  }

  // Plays the answers; the body of the last request.
  json ask(ChatRequest request, std::vector<HttpExchange> answers) {
    heard = {};
    lines.text.clear();
    options.replay = std::make_shared<HttpReplay>(std::move(answers));
    testing::ManualClock clock;
    Runtime runtime({.clock = &clock});
    HttpLlmClient client(runtime, options);
    client.chat(std::move(request), {}, heard.sink());
    CHECK(runtime.run_until_idle());
    return json::parse(lines.exchanges().back().request_body);
  }

  const Dialect dialect;
  HttpLlmOptions options;
  RecorderLines lines;
  ChatRecord heard;
};

Names sorted(Names names) {
  std::ranges::sort(names);
  return names;
}

Names called(const ChatRecord& heard) {
  Names names;
  for (const ToolCall& call : heard.outcomes.at(0).tool_calls) names.push_back(call.name);
  return names;
}

const auto dialects = {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages};

}  // namespace

TEST_CASE("a tool is called by its own name, whatever name its server takes", "[llm][dialects][tools]") {
  for (const Dialect dialect : dialects) {
    INFO(to_string(dialect));
    NamedTools tools(dialect);
    const json body = tools.ask(NamedTools::request(own_names), {tools.exchange(200, calls_of(dialect, {}))});
    const Names sent = names_in(body["tools"]);
    REQUIRE(sent.size() == own_names.size());
    CHECK(std::set<std::string>(sent.begin(), sent.end()).size() == sent.size());
    CHECK(sent[0].starts_with("get_weather_"));
    CHECK(sent[1].starts_with("get_weather_"));
    CHECK(Names(sent.begin() + 2, sent.end()) == Names{"get_weather", "a__", "_1st", "look"});
    CHECK(names_in(body["tool_choice"]) == Names{sent[0]});
    CHECK(names_in(body[dialect == Dialect::openai_responses ? "input" : "messages"]) == sent);
    tools.ask(NamedTools::request(own_names), {tools.exchange(200, calls_of(dialect, sent))});
    REQUIRE(tools.heard.completed());
    CHECK(called(tools.heard) == own_names);
  }
}

TEST_CASE("the sent name of a tool depends neither on the order of the tools nor on the call",
          "[llm][dialects][tools]") {
  NamedTools tools(Dialect::openai_chat);
  const std::vector<HttpExchange> answers = {tools.exchange(200, calls_of(Dialect::openai_chat, {}))};
  const json body = tools.ask(NamedTools::request(own_names), answers);
  Names reversed = own_names;
  std::ranges::reverse(reversed);
  const json other = tools.ask(NamedTools::request(reversed), answers);
  CHECK(other["messages"] == body["messages"]);
  CHECK(sorted(names_in(other["tools"])) == sorted(names_in(body["tools"])));
}

TEST_CASE("an own name that a model calls all the same, and an invented one, stay",
          "[llm][dialects][tools]") {
  NamedTools tools(Dialect::openai_chat);
  tools.ask(NamedTools::request(own_names),
            {tools.exchange(200, calls_of(Dialect::openai_chat, {"1st", "look_", "_1st"}))});
  CHECK(called(tools.heard) == Names{"1st", "look_", "1st"});
}

TEST_CASE("the second attempt of a call, without reasoning, has the same names", "[llm][dialects][tools]") {
  NamedTools tools(Dialect::openai_chat);
  ChatRequest request = NamedTools::request(own_names);
  request.messages[1].append(std::vector{ReasoningBlock{.dialect = "openai_chat",
                                                        .data = R"({"reasoning_content":"Hm"})",
                                                        .server = "server.test",
                                                        .model = "m"}});
  tools.ask(std::move(request),
            {tools.exchange(400, R"({"error":{"message":"unknown field reasoning_content"}})"),
             tools.exchange(200, calls_of(Dialect::openai_chat, {"_1st"}))});
  CHECK(tools.lines.exchanges().size() == 2);
  CHECK(called(tools.heard) == Names{"1st"});
}
