// Whole turns with tools against the stand-in server, over HTTP: what the server was asked, and what came of
// it.
#include "integration/llm/turn_fixture.hpp"
#include "support/catch.hpp"

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace agentcore;
using namespace agentcore::test;

namespace {

using nlohmann::json;

// {"role":"tool","tool_call_id":...,"content":...} of each result in a request, in order.
std::vector<std::string> results_in(const json& request) {
  std::vector<std::string> results;
  for (const json& message : request["messages"])
    if (message["role"] == "tool")
      results.push_back(message["tool_call_id"].get<std::string>() + "=" +
                        message["content"].get<std::string>());
  return results;
}

constexpr const char* two_sums =
    "What is the sum?\n"
    "/say One moment.\n"
    "/call add {\"a\":1,\"b\":2}\n"
    "/call add {\"a\":30,\"b\":4}\n"
    "/then\n"
    "/call add {\"a\":3,\"b\":34}\n"
    "/then\n"
    "/say It is 37.";

}  // namespace

TEST_CASE("in a turn of three answers the server receives calls and results in order",
          "[openai][turn][tools][integration][J2][K7][B7][G8]") {
  const bool stream = GENERATE(true, false);
  const std::string style = GENERATE("pieces", "interleaved", "object");
  INFO("stream: " << stream << ", " << style);
  TurnFixture f(5, {"x-standin-calls: " + style});
  ForwardingClient whole = unstreamed(f.llm);
  AgentSpec spec{.system_prompt = "Be brief."};
  if (!stream) spec.llm = &whole;
  const Agent agent = f.ask(two_sums, std::move(spec));
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.end.result->text == "It is 37.");
  CHECK(f.end.result->calls.size() == 3);
  CHECK(f.end.result->usage.total_tokens > 0);
  CHECK(is_valid_history(agent.conversation().value()));

  REQUIRE(f.requests() == 3);
  const json first = f.request(1);
  CHECK(first.value("stream", false) == stream);
  CHECK(first["tools"][0]["function"]["name"] == "add");
  CHECK(first["tools"][0]["function"]["parameters"]["required"] == json({"a", "b"}));
  CHECK(first["messages"].size() == 2);

  const json second = f.request(2);
  CHECK(second["tools"] == first["tools"]);
  REQUIRE(second["messages"].size() == 5);
  CHECK(second["messages"][0] == first["messages"][0]);
  CHECK(second["messages"][1] == first["messages"][1]);
  const json& answer = second["messages"][2];
  CHECK(answer["role"] == "assistant");
  CHECK(answer["content"] == "One moment.");
  REQUIRE(answer["tool_calls"].size() == 2);
  CHECK(answer["tool_calls"][0]["id"] == "call_1_1");
  CHECK(answer["tool_calls"][0]["type"] == "function");
  CHECK(answer["tool_calls"][0]["function"] == json{{"name", "add"}, {"arguments", R"({"a":1,"b":2})"}});
  CHECK(answer["tool_calls"][1]["id"] == "call_1_2");
  CHECK(results_in(second) == std::vector<std::string>{"call_1_1=3", "call_1_2=34"});

  const json third = f.request(3);
  CHECK(third["messages"].size() == 7);
  CHECK(results_in(third) == std::vector<std::string>{"call_1_1=3", "call_1_2=34", "call_2_1=37"});
  CHECK(open_transfers(f.runtime) == 0);
}

TEST_CASE("the results of parallel calls are sent in the order of the calls",
          "[openai][turn][tools][integration][J10]") {
  TurnFixture f;
  std::vector<ToolDone> held;
  f.tools->add({{.name = "held"},
                [&](const json&, const ToolContext&, ToolDone done) { held.push_back(std::move(done)); }});
  f.ask("/call held\n/call held\n/call add {\"a\":1,\"b\":1}\n/call held", {.limits = {.parallel_tools = 4}});
  REQUIRE(f.drive_until([&] { return held.size() == 3; }));
  // The results come in the opposite order, each from a thread of its own.
  for (int i = 2; i >= 0; --i)
    std::jthread([&, i] {
      held[static_cast<std::size_t>(i)](ToolResult::done("held " + std::to_string(i)));
    }).join();
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  REQUIRE(f.requests() == 2);
  CHECK(results_in(f.request(2)) ==
        std::vector<std::string>{"call_1_1=held 0", "call_1_2=held 1", "call_1_3=2", "call_1_4=held 2"});
}

TEST_CASE("a call that cannot run is reported to the model and the turn continues",
          "[openai][turn][tools][integration][X31][K8]") {
  TurnFixture f;
  f.tools->add(make_tool({.name = "throws"}, [](const json&, const ToolContext&) -> ToolResult {
    throw std::runtime_error("boom");
  }));
  const Agent agent = f.ask(
      "/call add {\"a\":1,\n/call add {\"a\":1}\n/call nothing {}\n/call throws\n/then\n"
      "/call add {\"a\":1,\"b\":2}");
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  REQUIRE(f.requests() == 3);
  const json second = f.request(2);
  CHECK(results_in(second) ==
        std::vector<std::string>{
            "call_1_1=error: the arguments are not valid JSON; write them as one JSON object",
            "call_1_2=error: params.b is required", "call_1_3=error: Tool 'nothing' does not exist",
            "call_1_4=error: the tool failed: boom"});
  // Many servers refuse a history whose arguments are no object.
  for (const json& call : second["messages"][1]["tool_calls"])
    CHECK(json::parse(call["function"]["arguments"].get<std::string>()).is_object());
  CHECK(results_in(f.request(3)).back() == "call_2_1=3");
  CHECK(is_valid_history(agent.conversation().value()));
}

TEST_CASE("results reach the server unchanged except for broken UTF-8",
          "[openai][turn][tools][integration]") {
  TurnFixture f;
  f.tools->add(make_tool({.name = "odd"}, [](const json&, const ToolContext&) {
    return ToolResult::done("quote \" slash \\ tab \t null \x01 snow \xE2\x98\x83 broken \xff end");
  }));
  f.ask("/call odd");
  REQUIRE(f.drive_to_end());
  REQUIRE(f.requests() == 2);
  CHECK(results_in(f.request(2)) ==
        std::vector<std::string>{
            "call_1_1=quote \" slash \\ tab \t null \x01 snow \xE2\x98\x83 broken \xEF\xBF\xBD end"});
}

TEST_CASE("the text protocol over HTTP reads blocks and sends results as a message",
          "[openai][turn][tools][integration][J1]") {
  const bool stream = GENERATE(true, false);
  INFO("stream: " << stream);
  TurnFixture f;
  ForwardingClient whole = unstreamed(f.llm);
  AgentSpec spec{.system_prompt = "Be brief.", .tool_protocol = ToolProtocol::text};
  if (!stream) spec.llm = &whole;
  const Agent agent = f.ask(
      "/say I add.\n"
      "/say <tool_call>{\"calls\":[\n"
      "/say {\"window_id\":\"tools\",\"action_id\":\"add\",\"params\":{\"a\":2,\"b\":2}},\n"
      "/say {\"window_id\":\"tools\",\"action_id\":\"add\",\"params\":{\"a\":40}}]}</tool_call>",
      std::move(spec));
  REQUIRE(f.drive_to_end());
  CHECK(f.end.result->outcome == TurnOutcome::completed);
  CHECK(f.end.result->calls.size() == 2);
  REQUIRE(f.requests() == 2);
  const json first = f.request(1);
  CHECK_FALSE(first.contains("tools"));
  CHECK(first["messages"][0]["content"].get<std::string>().find("Adds two numbers.") != std::string::npos);
  const json second = f.request(2);
  CHECK_FALSE(second.contains("tools"));
  REQUIRE(second["messages"].size() == 4);
  CHECK(second["messages"][2]["role"] == "assistant");
  CHECK_FALSE(second["messages"][2].contains("tool_calls"));
  CHECK(second["messages"][3]["role"] == "user");
  const std::string results = second["messages"][3]["content"];
  CHECK(results.find(R"("result":"4")") != std::string::npos);
  CHECK(results.find("params.b is required") != std::string::npos);
  CHECK(is_valid_history(agent.conversation().value()));
}
