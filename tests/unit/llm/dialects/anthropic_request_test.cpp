// Requests of the Anthropic Messages dialect.
#include "core/utf8.hpp"
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "support/catch.hpp"
#include "support/messages.hpp"
#include "unit/llm/dialects/messages.hpp"

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using nlohmann::json;
using test::answer;
using test::result;

namespace {

json body_of(const ChatRequest& request, const detail::llm::BodyDefaults& defaults = {.model = "m"}) {
  return json::parse(detail::llm::anthropic_messages_body(request, defaults));
}

json messages_of(std::vector<ChatMessage> messages) {
  ChatRequest request;
  request.messages = std::move(messages);
  return body_of(request)["messages"];
}

std::string input_of(const std::string& arguments) {
  ChatRequest request;
  request.messages = {answer("", {{"a", "look", arguments}})};
  const std::string body = detail::llm::anthropic_messages_body(request, {.model = "m"});
  REQUIRE(detail::core::is_utf8(body));
  REQUIRE(json::accept(body));
  const std::string before = R"("name":"look","input":)";
  const auto begin = body.find(before) + before.size();
  return body.substr(begin, body.find("}]}],\"stream\"") - begin);
}

const ReasoningBlock signed_thought{"anthropic_messages",
                                    R"({"type":"thinking","thinking":"Hm.","signature":"s"})"};

}  // namespace

TEST_CASE("an Anthropic request always has max_tokens", "[llm][anthropic][O2]") {
  ChatRequest request;
  CHECK(body_of(request)["max_tokens"] == 4096);
  CHECK(body_of(request, {.model = "m", .max_tokens = 70})["max_tokens"] == 70);
  request.max_tokens = 5;
  CHECK(body_of(request, {.model = "m", .max_tokens = 70})["max_tokens"] == 5);
  CHECK(body_of(request, {.model = "m", .extra_body = R"({"max_tokens":9,"top_k":3})"})["max_tokens"] == 9);
}

TEST_CASE("system messages go into the system member", "[llm][anthropic][O2]") {
  ChatRequest request;
  request.messages = {ChatMessage::system("One."), ChatMessage::user("Why?"), ChatMessage::system(" "),
                      ChatMessage::system("Two.")};
  CHECK(body_of(request)["system"] == "One.\n\nTwo.");
  CHECK(body_of(request)["messages"] ==
        json::parse(R"([{"role":"user","content":[{"type":"text","text":"Why?"}]}])"));
  CHECK_FALSE(body_of({}).contains("system"));
}

TEST_CASE("adjacent messages of one role are merged", "[llm][anthropic][G8]") {
  CHECK(messages_of({test::marked(ChatMessage::user("a"), Interruption::aborted), ChatMessage::user("b"),
                     answer("c"), answer("d")}) ==
        json::parse(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
                        {"role":"assistant","content":[{"type":"text","text":"c"},{"type":"text","text":"d"}]}])"));
}

TEST_CASE("tool results come first in the user message", "[llm][anthropic][G8]") {
  CHECK(messages_of({answer("", {{"a", "look", "{}"}, {"b", "look", ""}}),
                     test::marked(ChatMessage::user("hurry"), Interruption::failed), result("a", "blue"),
                     result("b", " \n"), ChatMessage::user("well?")})[1] ==
        json::parse(R"({"role":"user","content":[
      {"type":"tool_result","tool_use_id":"a","content":"blue"},{"type":"tool_result","tool_use_id":"b"},
      {"type":"text","text":"hurry"},{"type":"text","text":"well?"}]})"));
}

TEST_CASE("empty messages are not sent to Anthropic", "[llm][anthropic]") {
  CHECK(messages_of({ChatMessage::user(""), answer(""), answer(" \t\n", {}, {signed_thought}),
                     ChatMessage::user("\f")}) == json::array());
  CHECK(messages_of({ChatMessage::user("a"), answer(""), ChatMessage::user("b")}).size() == 1);
  CHECK(messages_of({answer("", {{"a", "look", ""}})})[0]["content"] ==
        json::parse(R"([{"type":"tool_use","id":"a","name":"look","input":{}}])"));
}

TEST_CASE("arguments that are an object are sent back to Anthropic unchanged", "[llm][anthropic][tools]") {
  for (const std::string text : {R"({"z":1,"a":{"y":2,"b":3}})", R"( {"z" : 1e3, "a":[{}] } )", "{}"}) {
    INFO(text);
    CHECK(input_of(text) == text);
  }
  for (const std::string text :
       {"", " ", "[1]", "7", "null", "\"{}\"", "{", "{} {}", R"({"a":1}})", "look"}) {
    INFO(text);
    CHECK(input_of(text) == "{}");
  }
  CHECK(input_of("{\"a\":\"\xFF\"}") == "{\"a\":\"\xEF\xBF\xBD\"}");
  CHECK(input_of("{\"a\":" + std::string(100000, '[') + "}") == "{}");
}

TEST_CASE("call ids of other providers are rewritten for Anthropic", "[llm][anthropic][tools]") {
  const json sent =
      messages_of({answer("", {{"functions.look:0", "look", ""}, {"functions_look-0", "look", ""}}),
                   result("functions.look:0", "x"), result("functions_look-0", "y")});
  CHECK(sent[0]["content"][0]["id"] == "functions_2elook_3a0");
  CHECK(sent[1]["content"][0]["tool_use_id"] == "functions_2elook_3a0");
  CHECK(sent[0]["content"][1]["id"] == "functions_look-0");
  CHECK(sent[1]["content"][1]["tool_use_id"] == "functions_look-0");
}

TEST_CASE("only reasoning of Anthropic is sent back and before the text", "[llm][anthropic]") {
  const json sent = messages_of({answer("So.", {},
                                        {{"openai_responses", R"({"type":"reasoning"})"},
                                         signed_thought,
                                         {"anthropic_messages", ""},
                                         {"anthropic_messages", "\"x\""},
                                         {"anthropic_messages", "{\"type\":"}})});
  CHECK(sent[0]["content"] == json::parse("[" + signed_thought.data + R"(,{"type":"text","text":"So."}])"));
}

TEST_CASE("reasoning without a signature is not sent back", "[llm][anthropic]") {
  const detail::llm::WireFormat& format = detail::llm::anthropic_messages();
  CHECK(format.reasoning_block({.text = "Hm."}, false).empty());
  CHECK(json::parse(format.reasoning_block({.text = "Hm."}, true)) ==
        json::parse(R"({"type":"thinking","thinking":"Hm."})"));
  CHECK(format.reasoning_block({}, true).empty());
  CHECK(json::parse(format.reasoning_block({.text = "\"Hm.\xFF", .signature = "s"}, false)) ==
        json::parse("{\"type\":\"thinking\",\"thinking\":\"\\\"Hm.\xEF\xBF\xBD\",\"signature\":\"s\"}"));
  CHECK_FALSE(format.reasoning_block({.signature = "s"}, false).empty());  // the words may be kept back
}

TEST_CASE("a turn that was begun without reasoning goes on without thinking", "[llm][anthropic][reasoning]") {
  const auto thinking = [](std::vector<ChatMessage> messages, const std::string& type = "enabled") {
    ChatRequest request;
    request.messages = std::move(messages);
    const std::string extra = R"({"thinking":{"type":")" + type + R"(","budget_tokens":1024}})";
    return body_of(request, {.model = "m", .extra_body = extra})["thinking"]["type"].get<std::string>();
  };
  const std::vector<ToolCall> calls{{"a", "look", "{}"}}, more{{"b", "look", "{}"}};
  const ChatMessage question = ChatMessage::user("Why?");
  CHECK(thinking({question}) == "enabled");
  CHECK(thinking({question, answer("So.", calls), result("a", "x")}) == "disabled");
  CHECK(thinking({question, answer(" ", calls, {signed_thought}), result("a", "x")}) == "enabled");
  // The first answer decides; a message behind a result goes on with the turn.
  CHECK(thinking({question, answer("", calls, {signed_thought}), result("a", "x"), answer("", more),
                  result("b", "y"), test::steered(ChatMessage::user("Hurry."))}) == "enabled");
  CHECK(thinking({question, answer("", calls), result("a", "x"), test::steered(ChatMessage::user("Hurry.")),
                  ChatMessage::user("Now."), answer("", more, {signed_thought}), result("b", "y")}) ==
        "disabled");
  // A turn that is over does not count.
  CHECK(thinking({question, answer("", calls), result("a", "x"), answer("So."), question}) == "enabled");
  CHECK(thinking({question, answer("", calls), result("a", "x"), answer("So."), question,
                  answer("", more, {signed_thought}), result("b", "y")}) == "enabled");
  CHECK(thinking({question, answer("", calls), result("a", "x")}, "adaptive") == "adaptive");
}

TEST_CASE("thinking is sent so that Anthropic does not refuse it", "[llm][anthropic][reasoning]") {
  struct Row {
    std::string extra;
    std::optional<std::uint32_t> limit;
    std::optional<std::uint32_t> usual;
    std::string thinking, max_tokens;
  };
  const auto enabled = [](int budget) {
    return R"({"thinking":{"type":"enabled","budget_tokens":)" + std::to_string(budget) + "}}";
  };
  const auto thinking = [](int budget) {
    return R"({"budget_tokens":)" + std::to_string(budget) + R"(,"type":"enabled"})";
  };
  const std::string off = R"({"type":"disabled"})";
  for (const Row& row : {Row{enabled(4095), {}, {}, thinking(4095), "4096"},
                         Row{enabled(4096), {}, {}, thinking(4096), "8192"},  // nobody has set a limit
                         Row{enabled(20000), {}, {}, thinking(20000), "24096"},
                         Row{enabled(20000), {}, 8000, thinking(4000), "8000"},
                         Row{enabled(20000), 3000, 8000, thinking(1500), "3000"},
                         Row{enabled(2000), 2000, {}, thinking(1024), "2000"},
                         Row{enabled(2000), 1025, {}, thinking(1024), "1025"},
                         Row{enabled(2000), 1024, {}, off, "1024"}, Row{enabled(2000), 1, {}, off, "1"},
                         Row{R"({"max_tokens":3000,"thinking":{"type":"enabled","budget_tokens":3000}})",
                             {},
                             {},
                             thinking(1500),
                             "3000"},
                         Row{R"({"thinking":{"type":"adaptive"}})", 100, {}, R"({"type":"adaptive"})", "100"},
                         Row{R"({"thinking":{"type":"disabled"}})", 100, {}, off, "100"}}) {
    ChatRequest request;
    request.max_tokens = row.limit;
    const detail::llm::BodyDefaults defaults{.model = "m", .max_tokens = row.usual, .extra_body = row.extra};
    const json body = body_of(request, defaults);
    INFO(row.extra << ", " << row.limit.value_or(0) << ", " << row.usual.value_or(0));
    CHECK(body["thinking"] == json::parse(row.thinking));
    CHECK(body["max_tokens"].dump() == row.max_tokens);
  }
  ChatRequest small;
  small.max_tokens = 2000;
  const json interleaved =
      body_of(small, {.model = "m", .extra_body = enabled(20000), .interleaved_thinking = true});
  CHECK(interleaved["thinking"]["budget_tokens"] == 20000);
  CHECK(interleaved["max_tokens"] == 2000);
}

TEST_CASE("a call that is demanded goes without thinking", "[llm][anthropic][reasoning][tools]") {
  for (const std::string type : {"enabled", "adaptive"}) {
    ChatRequest request;
    request.messages = {ChatMessage::user("Why?")};
    request.tools = {{"look", "", ""}};
    const detail::llm::BodyDefaults defaults{
        .model = "m", .extra_body = R"({"thinking":{"type":")" + type + R"(","budget_tokens":1024}})"};
    const auto sent = [&](ToolChoice::Mode mode) {
      request.tool_choice = {mode, "look"};
      return body_of(request, defaults)["thinking"]["type"].get<std::string>();
    };
    using Mode = ToolChoice::Mode;
    CHECK(sent(Mode::automatic) == type);
    CHECK(sent(Mode::none) == type);
    CHECK(sent(Mode::required) == "disabled");
    CHECK(sent(Mode::named) == "disabled");
    request.tools.clear();
    CHECK(sent(Mode::named) == type);  // there is no call to demand
  }
}

TEST_CASE("the sampling that does not go with thinking is not sent", "[llm][anthropic][reasoning]") {
  const auto sent = [](const std::string& thinking, double temperature, double top_p) {
    ChatRequest request;
    request.temperature = temperature;
    request.top_p = top_p;
    json body = body_of(request, {.model = "m", .extra_body = R"({"top_k":5,"thinking":)" + thinking + "}"});
    std::string names;
    for (const char* const name : {"temperature", "top_p", "top_k"})
      if (body.contains(name)) names += std::string(names.empty() ? "" : " ") + name;
    return names;
  };
  CHECK(sent(R"({"type":"enabled","budget_tokens":1024})", 0.0, 0.5).empty());
  CHECK(sent(R"({"type":"adaptive"})", 0.5, 0.9).empty());
  CHECK(sent(R"({"type":"adaptive"})", 1.0, 0.95) == "temperature top_p");
  CHECK(sent(R"({"type":"disabled"})", 0.0, 0.5) == "temperature top_p top_k");
}

TEST_CASE("tool choices are written in Anthropic's form", "[llm][anthropic][tools]") {
  const auto choice = [](ToolChoice::Mode mode, std::optional<bool> parallel) {
    ChatRequest request;
    request.tools = {{"look", "", ""}};
    request.tool_choice = {mode, "look"};
    request.parallel_tool_calls = parallel;
    const json body = body_of(request);
    return body.contains("tool_choice") ? body["tool_choice"].dump() : "";
  };
  using Mode = ToolChoice::Mode;
  CHECK(choice(Mode::automatic, {}).empty());
  CHECK(choice(Mode::automatic, true).empty());
  CHECK(choice(Mode::automatic, false) == R"({"disable_parallel_tool_use":true,"type":"auto"})");
  CHECK(choice(Mode::none, false) == R"({"type":"none"})");
  CHECK(choice(Mode::required, {}) == R"({"type":"any"})");
  CHECK(choice(Mode::required, false) == R"({"disable_parallel_tool_use":true,"type":"any"})");
  CHECK(choice(Mode::named, true) == R"({"name":"look","type":"tool"})");
  ChatRequest bare;
  bare.tool_choice.mode = Mode::required;
  CHECK_FALSE(body_of(bare).contains("tool_choice"));
  CHECK_FALSE(body_of(bare).contains("tools"));
}

TEST_CASE("answer options are written in Anthropic's form", "[llm][anthropic]") {
  ChatRequest request;
  CHECK_FALSE(body_of(request).contains("output_config"));
  request.response_format.kind = ResponseFormat::Kind::json_object;  // it has none
  CHECK_FALSE(body_of(request).contains("output_config"));
  request.reasoning_effort = "max";
  CHECK(body_of(request)["output_config"] == json{{"effort", "max"}});
  request.response_format = {ResponseFormat::Kind::json_schema, "", R"({"type":"object","x":1})", false};
  CHECK(body_of(request)["output_config"]["format"] ==
        json::parse(R"({"type":"json_schema","schema":{"type":"object","x":1}})"));
}

TEST_CASE("temperatures for Anthropic are limited to 1", "[llm][anthropic]") {
  ChatRequest request;
  CHECK_FALSE(body_of(request).contains("temperature"));
  for (const auto& [asked, sent] : {std::pair{0.0, 0.0}, {0.5, 0.5}, {1.0, 1.0}, {1.5, 1.0}, {-1.0, 0.0}}) {
    request.temperature = asked;
    CHECK(body_of(request)["temperature"] == sent);
  }
}
