// How reasoning is kept and written by the rules of providers with the OpenAI dialect.
#include "core/message_items.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "support/catch.hpp"
#include "support/drive/http_call_fixture.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/provider.hpp>

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using nlohmann::json;

namespace {

using When = ReasoningRule::When;
using Placeholder = ReasoningRule::Placeholder;
using Items = std::vector<MessageItem>;

const ReasoningBlock thought{"openai_chat", R"({"reasoning_content":"Hm"})"};
const ToolCall look{"a", "look", "{}"}, listen{"b", "listen", "{}"};

// The entry of an answer with these items.
json sent(const Items& items, const ReasoningRule& rule, bool with_tools = true) {
  ChatRequest request;
  request.messages = {ChatMessage::assistant(items)};
  if (with_tools) request.tools = {{"look", "", ""}};
  return json::parse(
      detail::llm::openai_chat_body(request, {.model = "m", .reasoning = rule}))["messages"][0];
}

ReasoningRule rule_of_provider(const char* name) {
  return provider_options(name).value().reasoning.value();
}

// The reasoning that is kept of an answer, by a client with that rule.
std::vector<ReasoningBlock> kept(const std::string& members, const ReasoningRule& rule) {
  CallFixture fixture;
  fixture.shared->reasoning = rule;
  return fixture
      .answer(200, all_events,
              R"(data: {"choices":[{"delta":{)" + members + "}}]}\n\n" + piece("So.") + finish_chunk)
      .outcomes.at(0)
      .reasoning;
}

// An answer of one call, with reasoning that is neither signed nor encrypted.
std::string unsigned_answer(Dialect dialect) {
  switch (dialect) {
    case Dialect::openai_chat:
      return R"({"choices":[{"message":{"content":null,"reasoning_content":"Hm","tool_calls":[{"id":"abc123XYZ",)"
             R"("type":"function","function":{"name":"look","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})";
    case Dialect::openai_responses:
      return R"({"id":"r","status":"completed","output":[{"type":"reasoning","id":"rs_1","summary":[],"content":[)"
             R"({"type":"reasoning_text","text":"Hm"}]},{"type":"function_call","id":"fc_1","call_id":"abc123XYZ",)"
             R"("name":"look","arguments":"{}"}]})";
    case Dialect::anthropic_messages:
      return R"({"id":"m","type":"message","role":"assistant","content":[{"type":"thinking","thinking":"Hm"},)"
             R"({"type":"tool_use","id":"abc123XYZ","name":"look","input":{}}],"stop_reason":"tool_use"})";
  }
  return {};
}

// The body of the request behind an answer with unsigned reasoning.
std::string body_behind_unsigned(const ProviderForm& form) {
  const ReasoningRule rule = form.defaults.reasoning.value();
  CallFixture fixture(false, 1 << 20, 1 << 20, detail::llm::wire_format(form.dialect));
  fixture.shared->server = form.server;
  fixture.shared->reasoning = rule;
  ChatRequest request{.model = "m", .messages = {ChatMessage::user("Why?")}, .salt = "salt"};
  request.tools = {{"look", "", ""}};
  request.stream = false;
  ChatRecord heard;
  auto parts = fixture.parts("b");
  parts.binding = detail::llm::binding_of(request, rule, "key");
  HttpCall call(fixture.shared, std::move(parts), request, {}, heard.sink());
  call.on_head({.status = 200, .content_type = json_type});
  call.on_body(unsigned_answer(form.dialect));
  call.on_end({});
  const ChatOutcome& outcome = heard.outcomes.at(0);
  REQUIRE(outcome.tool_calls.size() == 1);
  request.messages.push_back(ChatMessage::assistant(
      detail::core::items_of(heard.text(), outcome.reasoning, outcome.tool_calls, outcome.order)));
  request.messages.push_back(ChatMessage::tool_result("abc123XYZ", "seen"));
  return body_for(form, request);
}

}  // namespace

TEST_CASE("the text of reasoning is written into the member of the rule", "[llm][openai][reasoning]") {
  CHECK(sent({thought, look}, {})["reasoning_content"] == "Hm");
  const json renamed = sent({thought, look}, {.field = ReasoningRule::Field::reasoning});
  CHECK(renamed["reasoning"] == "Hm");
  CHECK_FALSE(renamed.contains("reasoning_content"));
}

TEST_CASE("an answer has its reasoning when the rule says so", "[llm][openai][reasoning]") {
  const auto has = [](When when, bool calls, bool tools) {
    Items items{thought, TextItem{"So."}};
    if (calls) items.emplace_back(look);
    return sent(items, {.when = when}, tools).contains("reasoning_content");
  };
  for (const bool tools : {false, true}) {
    CHECK_FALSE(has(When::never, true, tools));
    CHECK(has(When::with_calls, true, tools));
    CHECK_FALSE(has(When::with_calls, false, tools));
    CHECK(has(When::with_tools, true, tools));
    CHECK(has(When::with_tools, false, tools) == tools);
    CHECK(has(When::always, false, tools));
  }
}

TEST_CASE("DeepSeek gets reasoning_content in every answer of a request with tools",
          "[llm][openai][reasoning]") {
  const ReasoningRule rule = rule_of_provider("deepseek");
  CHECK(sent({thought, look}, rule)["reasoning_content"] == "Hm");
  CHECK(sent({thought, TextItem{"So."}}, rule)["reasoning_content"] == "Hm");
  CHECK(sent({look}, rule)["reasoning_content"] == " ");  // of an answer that another server made
  CHECK(sent({TextItem{"So."}}, rule)["reasoning_content"] == " ");
  CHECK_FALSE(sent({thought, TextItem{"So."}}, rule, false).contains("reasoning_content"));
  CHECK_FALSE(sent({TextItem{"So."}}, rule, false).contains("reasoning_content"));
}

TEST_CASE("Gemini gets a signature at the first call of each answer", "[llm][openai][reasoning]") {
  const ReasoningRule rule = rule_of_provider("gemini");
  const json held = sent({look, listen}, rule)["tool_calls"];
  CHECK(held[0]["extra_content"] ==
        json::parse(R"({"google":{"thought_signature":"skip_thought_signature_validator"}})"));
  CHECK_FALSE(held[1].contains("extra_content"));
  const ReasoningBlock signature{"openai_chat", R"({"tool_call":0,"id":"a","extra_content":{"x":1}})"};
  CHECK(sent({signature, look, listen}, rule)["tool_calls"][0]["extra_content"] == json{{"x", 1}});
  CHECK_FALSE(sent({TextItem{"So."}}, rule).contains("extra_content"));
}

TEST_CASE("no placeholder stands where a rule has none", "[llm][openai][reasoning]") {
  CHECK(sent({look}, {}) == sent({look}, {.when = When::never, .placeholder = Placeholder::blank_text}));
  CHECK_FALSE(sent({look}, {}).contains("reasoning_content"));
}

TEST_CASE("reasoning is kept under the name that the rule has", "[llm][openai][reasoning]") {
  const std::string one = R"("reasoning":"Hm")", other = R"("reasoning_content":"Hm")";
  ReasoningRule rule{.when = When::always};
  CHECK(kept(other, rule) == std::vector{thought});
  CHECK(kept(one, rule).empty());
  rule.field = ReasoningRule::Field::reasoning;
  CHECK(kept(one, rule) == std::vector{thought});
  CHECK(kept(other, rule) == std::vector{thought});
  CHECK(kept(one + "," + other, rule) == std::vector{thought});  // once
  CHECK(kept(other + "," + one, rule) == std::vector{thought});
}

TEST_CASE("the reasoning of an answer without calls is kept if it goes back", "[llm][openai][reasoning]") {
  const std::string member = R"("reasoning_content":"Hm")";
  CHECK(kept(member, {.when = When::always}).size() == 1);
  CHECK(kept(member, {.when = When::with_tools}).size() == 1);
  CHECK(kept(member, {.when = When::with_calls}).empty());
  CHECK(kept(member, {.when = When::never}).empty());
}

TEST_CASE("kept reasoning names what it is bound to", "[llm][reasoning]") {
  CallFixture fixture;
  fixture.shared->server = "a.test";
  fixture.shared->reasoning = {.when = When::always};
  ChatRequest request;
  ChatRecord heard;
  auto parts = fixture.parts("b");
  parts.binding = {"m", 1, 2};
  HttpCall call(fixture.shared, std::move(parts), request, {}, heard.sink());
  call.on_head({.status = 200, .content_type = all_events});
  call.on_body(R"(data: {"choices":[{"delta":{"reasoning_content":"Hm"}}]})"
               "\n\n" +
               finish_chunk + done_chunk);
  call.on_end({});
  const std::vector<ReasoningBlock>& blocks = heard.outcomes.at(0).reasoning;
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0] == ReasoningBlock{"openai_chat", R"({"reasoning_content":"Hm"})", "a.test", "m",
                                    "0000000000000001", "0000000000000002"});
}

TEST_CASE("reasoning that nobody signed goes back to servers that sign nothing, in each dialect",
          "[llm][provider][reasoning]") {
  for (const Dialect dialect :
       {Dialect::openai_chat, Dialect::openai_responses, Dialect::anthropic_messages}) {
    const std::string path(detail::llm::wire_format(dialect).path());
    const auto next = [&](const char* name, bool takes_unsigned) {
      INFO(name << " " << to_string(dialect));
      HttpLlmOptions options = provider_options(name).value();
      options.dialect = dialect;
      CHECK(options.takes_unsigned_reasoning == takes_unsigned);
      const std::string body = body_behind_unsigned(form_of(options));
      CHECK(refusal_of(name, body, path) == "");
      return body.find(R"("Hm")") != std::string::npos;
    };
    for (const char* const name : {"deepseek", "kimi", "llamacpp", "lmstudio", "ollama", "vllm"})
      CHECK(next(name, true));
    const bool is_chat = dialect == Dialect::openai_chat;
    for (const char* const name : {"fireworks", "openrouter", "together"})
      CHECK(next(name, false) == is_chat);
  }
}
