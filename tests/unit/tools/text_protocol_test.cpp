#include "tools/text_protocol.hpp"

#include "support/catch.hpp"
#include "tools/protocol.hpp"
#include "tools/registry.hpp"

#include <agentcore/chat.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace agentcore::detail::tools;

namespace {

std::string block(const std::string& json) {
  return "<tool_call>" + json + "</tool_call>";
}

// The reason why the block in it is none.
std::string refusal(const std::string& answer) {
  const ParsedAnswer parsed = parse_tool_text(answer, 1);
  CHECK(parsed.calls.empty());
  return parsed.parse_error;
}

}  // namespace

TEST_CASE("calls are read in order and get ids", "[tools][J1][J2][J5][J8][J10]") {
  const ParsedAnswer parsed = parse_tool_text(
      "Let me see.\n<tool_call>\n{ \"calls\": [\n"
      R"({"window_id":"notes","action_id":"add","params":{"text":"milk","n":2}},)"
      "\n"
      R"({"window_id":" notes ","action_id":"list"})"
      "\n]}\n</tool_call> done",
      2);
  CHECK(parsed.parse_error == "");
  REQUIRE(parsed.calls.size() == 2);
  CHECK(parsed.calls[0] == ActionCall{"call_2_1", "notes", "add", R"({"n":2,"text":"milk"})"});
  CHECK(parsed.calls[1] == ActionCall{"call_2_2", "notes", "list", ""});
}

TEST_CASE("a single call needs no array", "[tools][J6]") {
  const ParsedAnswer parsed = parse_tool_text(block(R"({"window_id":"w","action_id":"a","params":{}})"), 1);
  REQUIRE(parsed.calls.size() == 1);
  CHECK(parsed.calls[0] == ActionCall{"call_1_1", "w", "a", "{}"});
}

TEST_CASE("ids and modes that a model writes are ignored", "[tools][J7][J9]") {
  const ParsedAnswer parsed = parse_tool_text(
      block(R"({"calls":[{"id":"x","call_id":"y","mode":"async","window_id":"w","action_id":"a"}]})"), 3);
  REQUIRE(parsed.calls.size() == 1);
  CHECK(parsed.calls[0] == ActionCall{"call_3_1", "w", "a", ""});
}

TEST_CASE("property names are read in any case and the exact one has priority", "[tools][J11]") {
  const ParsedAnswer parsed = parse_tool_text(
      block(R"({"Calls":[{"Window_ID":"w","ACTION_ID":"no","action_id":"a","Params":{"Key":1}}]})"), 1);
  REQUIRE(parsed.calls.size() == 1);
  CHECK(parsed.calls[0] == ActionCall{"call_1_1", "w", "a", R"({"Key":1})"});
}

TEST_CASE("params that are not an object count as missing", "[tools][J5][J11]") {
  for (const std::string params : {"null", "[]", "7", "\"text\""}) {
    const ParsedAnswer parsed =
        parse_tool_text(block(R"({"calls":[{"window_id":"w","action_id":"a","params":)" + params + "}]}"), 1);
    REQUIRE(parsed.calls.size() == 1);
    CHECK(parsed.calls[0].params.empty());
  }
}

TEST_CASE("params may be the text of an object", "[tools][J5]") {
  const ParsedAnswer parsed =
      parse_tool_text(block(R"({"window_id":"w","action_id":"a","params":"{\"k\":1}"})"), 1);
  REQUIRE(parsed.calls.size() == 1);
  CHECK(parsed.calls[0] == ActionCall{"call_1_1", "w", "a", R"({"k":1})"});
}

TEST_CASE("only the first block counts", "[tools][J11]") {
  const std::string good = block(R"({"calls":[{"window_id":"w","action_id":"a"}]})");
  CHECK(parse_tool_text(good + block("{}"), 1).calls.size() == 1);
  CHECK(parse_tool_text(good + block(R"({"name":"a"})"), 1).calls.size() == 1);
  CHECK(refusal(block("{") + good) != "");
}

TEST_CASE("calls by name and arguments are calls of tools", "[tools][J1][X30]") {
  const auto only = [](const std::string& text) {
    const ParsedAnswer parsed = parse_tool_text(block(text), 1);
    INFO(parsed.parse_error);
    REQUIRE(parsed.calls.size() == 1);
    return parsed.calls[0];
  };
  const ActionCall call{"call_1_1", "tools", "add", R"({"a":1})"};
  CHECK(only(R"({"name":"add","arguments":{"a":1}})") == call);
  CHECK(only(R"({"name":" add ","arguments":"{\"a\":1}","id":"x"})") == call);
  CHECK(only(R"({"name":"add","parameters":{"a":1}})") == call);
  CHECK(only(R"([{"Name":"add","Arguments":{"a":1}}])") == call);
  CHECK(only(R"({"calls":[{"name":"add","arguments":{"a":1}}]})") == call);
  for (const std::string none : {R"({"name":"add"})", R"({"name":"add","arguments":null})"})
    CHECK(only(none) == ActionCall{"call_1_1", "tools", "add", ""});
  CHECK(only(R"({"name":"add","arguments":""})") == ActionCall{"call_1_1", "tools", "add", "{}"});
  CHECK(only(R"({"window_id":"notes","name":"add","arguments":{"a":1}})") ==
        ActionCall{"call_1_1", "notes", "add", R"({"a":1})"});
}

TEST_CASE("calls by name may have a block each", "[tools]") {
  const ParsedAnswer parsed = parse_tool_text("I do both.\n" + block(R"({"name":"a","arguments":{}})") +
                                                  "\n" + block(R"([{"name":"b"},{"name":"c"}])") + " done",
                                              2);
  CHECK(parsed.parse_error == "");
  REQUIRE(parsed.calls.size() == 3);
  CHECK(parsed.calls[0] == ActionCall{"call_2_1", "tools", "a", "{}"});
  CHECK(parsed.calls[2] == ActionCall{"call_2_3", "tools", "c", ""});
  CHECK(refusal(block(R"({"name":"a"})") + block("{")) ==
        "the tool_call block was not understood: it is not valid JSON");
  std::string many;
  for (std::size_t i = 0; i <= max_calls_per_answer; ++i) many += block(R"({"name":"a"})");
  CHECK(refusal(many).find("more than 64") != std::string::npos);
}

TEST_CASE("arguments that are not a JSON object are reported and nothing is called", "[tools][X30]") {
  CHECK(refusal(block(R"({"name":"a","arguments":"{broken"})"))
            .find("call 1 cannot be made: the arguments are "
                  "not valid JSON") != std::string::npos);
  for (const std::string other : {"[]", "7", "\"[]\"", "true"})
    CHECK(refusal(block(R"({"name":"a","arguments":)" + other + "}")).find("are not a JSON object") !=
          std::string::npos);
  CHECK(refusal(block(R"({"name":" "})")).find("call 1 has no name") != std::string::npos);
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  CHECK(refusal(block(R"({"name":"a","arguments":"{\"a\":)" + deep + "}\"}")).find("nested deeper") !=
        std::string::npos);
}

TEST_CASE("calls of a history from elsewhere are written as they are", "[tools][G8]") {
  for (const std::string& params :
       {std::string("{broken"), std::string("[1]"), std::string("\xff"),
        std::string(100'000, '[') + std::string(100'000, ']'), R"({"a":)" + std::string(100'000, '[')}) {
    const std::string text = render_tool_text({{"call_1_1", "w", "a", params}});
    CHECK(text.find("discarded") == std::string::npos);
    CHECK(text.find(R"("invalid_params":")") != std::string::npos);
    const ParsedAnswer parsed = parse_tool_text(text, 1);
    REQUIRE(parsed.calls.size() == 1);
    CHECK(parsed.calls[0] == ActionCall{"call_1_1", "w", "a", ""});
  }
}

TEST_CASE("one call without an id voids them all", "[tools][J3][J4][J11]") {
  for (const std::string bad :
       {R"({"action_id":"a"})", R"({"window_id":"  ","action_id":"a"})", R"({"window_id":"w"})",
        R"({"window_id":"w","action_id":""})", R"({"window_id":1,"action_id":"a"})", "7"})
    CHECK(refusal(block(R"({"calls":[{"window_id":"w","action_id":"a"},)" + bad + "]}")).find("call 2 ") !=
          std::string::npos);
}

TEST_CASE("text without a block is an answer in words", "[tools][X30]") {
  for (const std::string answer :
       {"", "Just words.", "tool_call", "</tool_call>", "<TOOL_CALL>{}</TOOL_CALL>"}) {
    const ParsedAnswer parsed = parse_tool_text(answer, 1);
    CHECK(parsed.calls.empty());
    CHECK(parsed.parse_error == "");
  }
}

TEST_CASE("a broken block is an answer in words with the reason", "[tools][J11][X30]") {
  CHECK(refusal("<tool_call>{\"calls\":") == "the tool_call block was not understood: it has no end");
  CHECK(refusal(block("{\"calls\":")) == "the tool_call block was not understood: it is not valid JSON");
  CHECK(refusal(block("\xff")) == "the tool_call block was not understood: it is not valid JSON");
  CHECK(refusal(block("7")) == "the tool_call block was not understood: it holds no JSON object");
  CHECK(refusal(block("[]")) == "the tool_call block was not understood: `calls` is empty");
  CHECK(refusal(block(R"({"calls":[]})")) == "the tool_call block was not understood: `calls` is empty");
  CHECK(refusal(block(R"({"calls":{}})")) ==
        "the tool_call block was not understood: `calls` is not an array");
  CHECK(refusal(block("{}")).find("call 1 has no window_id") != std::string::npos);
}

TEST_CASE("a block has limits of size and calls", "[tools][G15]") {
  const std::string call = R"({"window_id":"w","action_id":"a"})";
  std::string calls = call;
  for (std::size_t i = 1; i < max_calls_per_answer; ++i) calls += "," + call;
  CHECK(parse_tool_text(block("{\"calls\":[" + calls + "]}"), 1).calls.size() == max_calls_per_answer);
  CHECK(refusal(block("{\"calls\":[" + calls + "," + call + "]}")).find("more than 64") != std::string::npos);
  const auto nested = [](std::size_t depth) {
    return block(R"({"window_id":"w","action_id":"a","params":{"p":)" + std::string(depth, '[') + "\"[{[\"" +
                 std::string(depth, ']') + "}}");
  };
  const std::vector<ActionCall> deepest = parse_tool_text(nested(max_json_depth - 1), 1).calls;
  REQUIRE(deepest.size() == 1);
  CHECK(parse_tool_text(render_tool_text(deepest), 1).calls == deepest);
  CHECK(refusal(nested(max_json_depth)).find("nested deeper") != std::string::npos);
  CHECK(refusal(nested(1'000'000)).find("nested deeper") != std::string::npos);
}

TEST_CASE("a parameter may contain the end tag of a block", "[tools][J1]") {
  const std::vector<ActionCall> calls{{"call_1_1", "w", "a", R"({"text":"</tool_call></tool_call>"})"}};
  CHECK(parse_tool_text(render_tool_text(calls), 1).calls == calls);
  const std::string call =
      R"({"window_id":"w","action_id":"a","params":{"text":"</tool_call></tool_call>"}})";
  CHECK(parse_tool_text("I do. " + block(call) + " Done.", 1).calls == calls);
  const std::vector<ActionCall> quoted{{"call_1_1", "w", "a", R"({"text":"\"</tool_call>\\"})"}};
  CHECK(parse_tool_text(block(R"({"window_id":"w","action_id":"a","params":{"text":"\"</tool_call>\\"}})"), 1)
            .calls == quoted);
  CHECK(refusal(R"(<tool_call>{"window_id":"w</tool_call>)") ==
        "the tool_call block was not understood: a string in it has no end");
}

TEST_CASE("a block may have a code fence inside", "[tools][J1]") {
  const std::string call = R"({"window_id":"w","action_id":"a","params":{"text":"```\n</tool_call>\n```"}})";
  const std::vector<ActionCall> calls{{"call_1_1", "w", "a", R"({"text":"```\n</tool_call>\n```"})"}};
  CHECK(parse_tool_text(block("\n```json\n" + call + "\n```\n"), 1).calls == calls);
  CHECK(parse_tool_text(block("```\n" + call + "\n```"), 1).calls == calls);
  CHECK(refusal(block("```json\n" + call)) == "the tool_call block was not understood: it is not valid JSON");
}

TEST_CASE("the instructions describe the text protocol", "[tools][N1][N2][N3][N4]") {
  const std::string text = tool_text_instructions(true);
  CHECK(text.find("`calls` is always an array") != std::string::npos);
  CHECK(text.find("Do not write ids") != std::string::npos);
  CHECK(text.find("at once or in the background") != std::string::npos);
  CHECK(text.find("`launcher` is always there") != std::string::npos);
  CHECK(tool_text_instructions(false).find("launcher") == std::string::npos);
  // The form that they show is the form that is read.
  CHECK(refusal(text).find("not valid JSON") != std::string::npos);
}

TEST_CASE("a correction names the mistake and the expected form", "[tools][X30]") {
  const std::string text = tool_text_correction("it is not valid JSON");
  CHECK(text.find("it is not valid JSON") != std::string::npos);
  CHECK(text.find(R"(<tool_call>{"calls":[{"window_id":)") != std::string::npos);
}

TEST_CASE("the marks of what was sent before count the messages as the text protocol writes them",
          "[tools][context]") {
  using namespace agentcore;
  ChatMessage asks = ChatMessage::assistant("I look.");
  asks.append(std::vector<ToolCall>{{"c1", "look", "{}"}, {"c2", "look", "{}"}});
  ChatMessage first = ChatMessage::tool_result({}, "one"), second = ChatMessage::tool_result({}, "two");
  first.tool_call_id = "c1";
  second.tool_call_id = "c2";
  const bool has_system = GENERATE(true, false);
  ChatRequest request;
  if (has_system) request.messages.push_back(ChatMessage::system("Be brief."));
  for (const ChatMessage& message : {ChatMessage::user("look"), asks, first, second,
                                     ChatMessage::assistant("Done."), ChatMessage::user("go on")})
    request.messages.push_back(message);
  const std::size_t before = has_system ? 1 : 0;
  request.sent_before = {before + 1, before + 4};
  const auto shows_nothing = [](std::uint64_t) { return false; };
  protocol_of(ToolProtocol::text)
      .write(registry_of(nullptr), shows_nothing, VolatilePlace::last_message, request);
  REQUIRE(request.messages.size() == 6);  // the instructions are in a system message
  CHECK(request.messages[3].content().starts_with("Results of your calls:"));
  // Up to the question, and up to the results, which are one message.
  CHECK(request.sent_before == std::vector<std::size_t>{2, 4});
}

TEST_CASE("the text of a result says whether it failed, and nothing else is read as that", "[tools][X31]") {
  using agentcore::ToolResult;
  ToolResult data;
  data.success = true;
  data.data = "{}";
  CHECK(text_of(data) == "{}");
  data.message = "found";
  CHECK(text_of(data) == "found\n{}");
  CHECK(text_of(ToolResult::failed("no disk")) == "error: no disk");
  CHECK(message_of("error: no disk", false) == "no disk");
  CHECK(message_of("error: is a word of the file", true) == "error: is a word of the file");
}
