// validate_request(): each rule, with a body that passes and one that fails.
#include "support/catch.hpp"
#include "testing/request_rules.hpp"

#include <agentcore/testing/request_validator.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

using agentcore::testing::validate_request;
using nlohmann::json;

namespace {

using Problems = std::vector<std::string>;

// A conversation with two calls, which every provider takes.
json chat_body() {
  return json::parse(R"({
    "model": "m",
    "messages": [
      {"role": "system", "content": "Be brief."},
      {"role": "user", "content": "What time is it?"},
      {"role": "assistant", "content": null, "reasoning_content": "Look.", "tool_calls": [
        {"id": "abc123XYZ", "type": "function", "function": {"name": "now", "arguments": "{\"zone\":\"UTC\"}"}},
        {"id": "abc123XY1", "type": "function", "function": {"name": "now", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "abc123XYZ", "content": "12:00"},
      {"role": "tool", "tool_call_id": "abc123XY1", "content": "12:00"},
      {"role": "assistant", "reasoning_content": "Noon.", "content": "Noon."},
      {"role": "user", "content": "Thanks."}],
    "tools": [{"type": "function", "function": {"name": "now", "description": "The time.", "parameters":
      {"type": "object", "properties": {"zone": {"type": "string"}}}}}],
    "tool_choice": {"type": "function", "function": {"name": "now"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
    "stream": true
  })");
}

// Without the members that not every provider knows.
json plain_chat_body() {
  json body = chat_body();
  for (json& message : body["messages"]) message.erase("reasoning_content");
  return body;
}

json responses_body() {
  return json::parse(R"({
    "model": "m",
    "instructions": "Be brief.",
    "input": [
      {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What time is it?"},
        {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]},
      {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
      {"type": "function_call", "call_id": "call_1", "name": "now", "arguments": "{}"},
      {"type": "function_call", "call_id": "call_2", "name": "now", "arguments": "{}"},
      {"type": "function_call_output", "call_id": "call_1", "output": "12:00"},
      {"type": "function_call_output", "call_id": "call_2", "output": [{"type": "input_text", "text": "12:00"}]},
      {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Noon."}]},
      {"role": "user", "content": "Thanks."}],
    "tools": [{"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}}],
    "tool_choice": {"type": "function", "name": "now"},
    "max_output_tokens": 16,
    "prompt_cache_key": "key",
    "store": false
  })");
}

json messages_body() {
  return json::parse(R"({
    "model": "m",
    "max_tokens": 1025,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
      {"role": "user", "content": [{"type": "text", "text": "What time is it?"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}]},
      {"role": "assistant", "content": [{"type": "thinking", "thinking": "Look.", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}}]},
      {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "12:00"},
        {"type": "tool_result", "tool_use_id": "toolu_2"}, {"type": "text", "text": "Go on."}]},
      {"role": "assistant", "content": "Noon."},
      {"role": "user", "content": "Thanks."}],
    "tools": [{"name": "now", "input_schema": {"type": "object", "properties": {}}}],
    "tool_choice": {"type": "auto"},
    "thinking": {"type": "enabled", "budget_tokens": 1024}
  })");
}

// A change of a body that passes, and what is then refused.
struct Refused {
  std::string_view provider;
  json body;
  std::string_view pointer;  // JSON pointer; "-" at its end adds to a list
  json value;                // discarded: removes
  std::string_view problem;  // how the first reason begins
};

const json removed = json(json::value_t::discarded);

json changed(json body, std::string_view pointer, const json& value) {
  const json::json_pointer place{std::string(pointer)};
  if (!value.is_discarded()) {
    body[place] = value;
    return body;
  }
  json& parent = body.at(place.parent_pointer());
  if (parent.is_array())
    parent.erase(std::stoul(place.back()));
  else
    parent.erase(place.back());
  return body;
}

void check_all(const std::vector<Refused>& cases) {
  for (const Refused& one : cases) {
    INFO(one.provider << " " << one.pointer << " " << one.value.dump());
    CHECK(validate_request(one.provider, one.body.dump()) == Problems());
    const Problems problems =
        validate_request(one.provider, changed(one.body, one.pointer, one.value).dump());
    REQUIRE_FALSE(problems.empty());
    CHECK(problems.front().substr(0, one.problem.size()) == one.problem);
  }
}

json user(std::string_view text) {
  return {{"role", "user"}, {"content", text}};
}

const json empty_answer = {{"role", "assistant"}, {"content", ""}};

}  // namespace

TEST_CASE("a request that every provider takes passes for every provider", "[testing][provider]") {
  for (const auto& rules : agentcore::detail::testing::all_request_rules()) {
    INFO(rules.provider);
    json body = plain_chat_body();
    if (rules.form == agentcore::detail::testing::RequestForm::responses) body = responses_body();
    if (rules.form == agentcore::detail::testing::RequestForm::messages) body = messages_body();
    if (rules.reasoning_back != agentcore::detail::testing::ReasoningBack::optional) body = chat_body();
    CHECK(validate_request(rules.provider, body.dump()) == Problems());
  }
}

TEST_CASE("what is no body of any provider is refused", "[testing][provider]") {
  CHECK(validate_request("openai", "[]") == Problems{"the body is not the text of a JSON object in UTF-8"});
  CHECK(validate_request("openai", "{\"model\":\"\xFF\"}") ==
        Problems{"the body is not the text of a JSON object in UTF-8"});
  CHECK(validate_request("openai", std::string(2000, '[')) == Problems{"the body is nested too deeply"});
  CHECK(validate_request("openia", "{}") == Problems{"there are no rules for a provider of that name"});
  CHECK(validate_request("openai", "{}") ==
        Problems{"model: is no text", "messages: is no list with entries"});
}

TEST_CASE("a body in which everything has another type is refused without an exception",
          "[testing][provider]") {
  const std::vector<json> values = {
      nullptr, 1, "a", json::array(), json::object(), json::array({1, "a", json::array()})};
  for (const json& body : {chat_body(), responses_body(), messages_body()}) {
    std::set<std::string> places;
    const json flat = body.flatten();
    for (const auto& [pointer, old] : flat.items())
      for (json::json_pointer place(pointer); !place.empty(); place = place.parent_pointer())
        places.insert(place.to_string());
    for (const std::string& place : places)
      for (const json& value : values)
        for (const char* const name : {"gemini", "mistral", "openai-responses", "anthropic"})
          CHECK_NOTHROW(validate_request(name, changed(body, place, value).dump()));
  }
}

TEST_CASE("the path decides the dialect", "[testing][provider]") {
  const std::string body = messages_body().dump();
  CHECK(validate_request("anthropic", body, "/v1/messages?beta=true") == Problems());
  CHECK(validate_request("anthropic", body, "/v1/chat/completions") != Problems());
  CHECK(validate_request("openai", responses_body().dump(), "/v1/responses") == Problems());
  CHECK(validate_request("openai", plain_chat_body().dump(), "/v1/") == Problems());
}

TEST_CASE("what all providers refuse in chat completions", "[testing][provider]") {
  const json body = plain_chat_body();
  check_all({
      {"openai", body, "/model", "", "model: is an empty text"},
      {"openai", body, "/temperature", 2.5, "temperature: is no number from 0 to 2"},
      {"openai", body, "/top_p", 1.5, "top_p: is no number from 0 to 1"},
      {"openai", body, "/stream", 1, "stream: is neither"},
      {"openai", body, "/messages/0/role", "robot", "messages[0].role: the provider does not know this role"},
      {"openai", body, "/messages/5", empty_answer, "messages[5].content: is an empty text"},
      {"openai", body, "/messages/5/content", nullptr, "messages[5].content: is no text"},
      {"openai", body, "/messages/1/content", json::array(), "messages[1].content: is an empty list"},
      {"openai", body, "/messages/1/surprise", 1, "messages[1].surprise: the provider does not know"},
      {"openai", body, "/messages/2/tool_calls", json::array(),
       "messages[2].tool_calls: is no list with entries"},
      {"openai", body, "/messages/2/tool_calls/0/type", "f", "messages[2].tool_calls[0].type: is not"},
      {"openai", body, "/messages/2/tool_calls/0/function", removed,
       "messages[2].tool_calls[0].function: is missing"},
      {"openai", body, "/messages/2/tool_calls/0/extra_content", json::object(),
       "messages[2].tool_calls[0].extra_content: the provider does not know"},
      {"openai", body, "/tools/0/type", "f", "tools[0].type: is not"},
      {"openai", body, "/tools", removed, "tool_choice: is only allowed with tools"},
      {"openai", body, "/tool_choice/function/name", "then", "tool_choice: \"then\" is the name of no tool"},
      {"openai", body, "/tools/-", body["tools"][0], "tools[1].function.name: another tool has this name"},
      {"openai", body, "/response_format/json_schema/schema", "{}",
       "response_format.json_schema.schema: is no object"},
      {"openai", body, "/response_format/json_schema/name", "my answer",
       "response_format.json_schema.name: \"my answer\""},
      {"openai", body, "/max_tokens", 5, "max_tokens: the provider's name of the limit is"},
  });
}

TEST_CASE("names of tools and calls", "[testing][provider]") {
  const json body = plain_chat_body();
  const std::string place = "/messages/2/tool_calls/0/function/name";
  for (const char* const name : {"get.time", "get time", "<|channel|>", ""})
    check_all(
        {{"openai", body, place, name, "messages[2].tool_calls[0].function.name: \"" + std::string(name)}});
  check_all({
      {"openai", body, place, std::string(65, 'a'), "messages[2].tool_calls[0].function.name: "},
      {"openai", body, "/tools/0/function/name", "get.time",
       "tools[0].function.name: \"get.time\" is no name"},
      {"gemini", body, place, "1st", "messages[2].tool_calls[0].function.name: \"1st\""},
      {"kimi", chat_body(), place, "1st", "messages[2].tool_calls[0].function.name: \"1st\""},
      {"kimi", chat_body(), place, "at", "messages[2].tool_calls[0].function.name: \"at\""},
      {"anthropic", messages_body(), "/messages/1/content/2/name", "get.time",
       "messages[1].content[2].name: "},
      {"openai-responses", responses_body(), "/input/2/name", "get.time", "input[2].name: "},
  });
  CHECK(validate_request("openai", changed(body, place, "1st").dump()) == Problems());
}

TEST_CASE("arguments of calls are the text of an object, or an object", "[testing][provider]") {
  const json body = plain_chat_body();
  for (const char* const text : {"", "{", "[]", "null", "{} {}"}) {
    check_all({{"vllm", body, "/messages/2/tool_calls/0/function/arguments", text,
                "messages[2].tool_calls[0].function.arguments: "},
               {"openai-responses", responses_body(), "/input/2/arguments", text, "input[2].arguments: "}});
  }
  check_all({{"anthropic", messages_body(), "/messages/1/content/2/input", "{}",
              "messages[1].content[2].input: is no object"}});
}

TEST_CASE("ids of calls, and their results", "[testing][provider]") {
  const json body = plain_chat_body();
  json long_id = body;
  long_id["messages"][3]["tool_call_id"] = std::string(41, 'a');
  check_all({
      {"openai", body, "/messages/2/tool_calls/1/id", "abc123XYZ",
       "messages[2].tool_calls[1].id: another call has this id"},
      {"openai", body, "/messages/2/tool_calls/1/id", "", "messages[2].tool_calls[1].id: \"\" is no id"},
      {"openai", body, "/messages/2/tool_calls/0/id", std::string(41, 'a'), "messages[2].tool_calls[0].id: "},
      {"mistral", body, "/messages/2/tool_calls/0/id", "call_1234", "messages[2].tool_calls[0].id: "},
      {"mistral", body, "/messages/2/tool_calls/0/id", "abc123", "messages[2].tool_calls[0].id: "},
      {"openai", body, "/messages/3", removed,
       "messages[4]: comes before the result of the call \"abc123XYZ\""},
      {"openai", body, "/messages/3", user("Now!"), "messages[3]: comes before the result of the call"},
      {"openai", body, "/messages/3/tool_call_id", "other",
       "messages[3].tool_call_id: \"other\" is the id of no call"},
      {"openai", body, "/messages/6",
       json{{"role", "tool"}, {"tool_call_id", "abc123XYZ"}, {"content", "late"}},
       "messages[6].tool_call_id: \"abc123XYZ\" is the id of no call"},
      {"openai-responses", responses_body(), "/input/4", removed, "input[6]: comes before the result"},
      {"openai-responses", responses_body(), "/input/4/call_id", "other", "input[4].call_id: \"other\""},
      {"openai-responses", responses_body(), "/input/3/call_id", "call_1", "input[3].call_id: another call"},
      {"anthropic", messages_body(), "/messages/1/content/2/id", "toolu.1", "messages[1].content[2].id: "},
      {"anthropic", messages_body(), "/messages/1/content/4/id", "toolu_1",
       "messages[1].content[4].id: another"},
      {"anthropic", messages_body(), "/messages/2/content/1", removed,
       "messages[2].content[1]: comes before the result"},
      {"anthropic", messages_body(), "/messages/2/content", "No.", "messages[2]: comes before the result"},
      {"anthropic", messages_body(), "/messages/2/content/0/tool_use_id", "x",
       "messages[2].content[0].tool_use_id: \"x\""},
  });
}

TEST_CASE("schemas of tools are objects with properties", "[testing][provider]") {
  const json body = plain_chat_body();
  const std::string place = "/tools/0/function/parameters";
  const json no_properties = {{"type", "object"}},
             none = {{"type", "object"}, {"properties", json::object()}};
  check_all({
      {"openai", body, place, no_properties,
       "tools[0].function.parameters.properties: an object schema without"},
      {"openai", body, place, json::object(), "tools[0].function.parameters.type: is not \"object\""},
      {"openai", body, place, "{}", "tools[0].function.parameters: is no object"},
      {"gemini", body, place, none, "tools[0].function.parameters.properties: must not be empty"},
      {"anthropic", messages_body(), "/tools/0/input_schema", no_properties,
       "tools[0].input_schema.properties: "},
      {"anthropic", messages_body(), "/tools/0/input_schema", removed, "tools[0].input_schema: is no object"},
      {"openai-responses", responses_body(), "/tools/0/parameters", no_properties,
       "tools[0].parameters.properties: "},
  });
  CHECK(validate_request("openai", changed(body, place, none).dump()) == Problems());
  CHECK(validate_request("gemini", changed(body, place, removed).dump()) == Problems());
}

TEST_CASE("the schemas of values are whole, too", "[testing][provider]") {
  const json body = plain_chat_body();
  const std::string place = "/tools/0/function/parameters/properties/zone";
  const std::string named = "tools[0].function.parameters.properties.zone";
  const auto schema = [](const char* text) { return json::parse(text); };
  check_all({
      {"openai", body, place, schema(R"({"type":"array"})"), named + ".items: an array schema without"},
      {"openai", body, place, schema(R"({"type":["array","null"]})"), named + ".items: "},
      {"openai", body, place, schema(R"({"type":"object"})"),
       named + ".properties: an object schema without"},
      {"openai", body, place, schema(R"({"type":"array","items":{"type":"array"}})"),
       named + ".items.items: "},
      {"openai", body, place, schema(R"({"anyOf":[{},{"type":"array"}]})"), named + ".anyOf[1].items: "},
      {"openai", body, "/tools/0/function/parameters/$defs", schema(R"({"d":{"type":"array"}})"),
       "tools[0].function.parameters.$defs.d.items: "},
      {"gemini", body, place, schema(R"({"type":"object","properties":{},"required":["b"]})"),
       named + ".required: names what is no property"},
      {"gemini", body, place, schema(R"({"properties":{"b":{}}})"), named + ".properties: is only allowed"},
      {"gemini", body, "/tools/0/function/parameters/required", schema(R"(["zone","b"])"),
       "tools[0].function.parameters.required: names what is no property"},
      {"anthropic", messages_body(), "/tools/0/input_schema/properties/b", schema(R"({"type":"array"})"),
       "tools[0].input_schema.properties.b.items: "},
      {"openai-responses", responses_body(), "/tools/0/parameters/properties/b",
       schema(R"({"type":"array"})"), "tools[0].parameters.properties.b.items: "},
  });
  for (const char* const taken : {R"({"type":"array","items":{}})", R"({"type":"object","properties":{}})",
                                  R"({"not":{"type":"array"}})", R"({"enum":["array"]})", "true"})
    for (const char* const name : {"openai", "gemini", "mistral"})
      CHECK(validate_request(name, changed(body, place, schema(taken)).dump()) == Problems());
}

TEST_CASE("the order of roles that chat templates and Mistral accept", "[testing][provider]") {
  const json body = plain_chat_body();
  json open = body;  // the last answer is not there
  open["messages"].erase(6);
  open["messages"].erase(5);
  for (const char* const name : {"mistral", "llamacpp", "vllm", "ollama", "openrouter"}) {
    check_all({
        {name, open, "/messages/-", user("And?"),
         "messages[5]: a message of the user right after the result of a tool"},
        {name, body, "/messages/-", user("And?"), "messages[7]: two messages of the role user"},
        {name, body, "/messages/-", json{{"role", "assistant"}, {"content", "a"}},
         "messages[7]: an answer as the last"},
        {name, body, "/messages/1", removed, "messages[1]: the first message is not the user's"},
        {name, body, "/messages/6", json{{"role", "system"}, {"content", "a"}},
         "messages[6]: a system message"},
        {name, body, "/messages/1/content", " ", "messages[1].content: is an empty text"},
        {name, body, "/messages/3/content", "", "messages[3].content: is an empty text"},
        {name, body, "/messages/0/role", "developer", "messages[0].role: the provider does not know"},
    });
  }
  // An answer between the two is enough.
  json bridged = open;
  bridged["messages"].push_back({{"role", "assistant"}, {"content", "OK."}});
  bridged["messages"].push_back(user("And?"));
  CHECK(validate_request("mistral", bridged.dump()) == Problems());
  for (const char* const name : {"openai", "groq", "xai"}) {
    CHECK(validate_request(name, changed(open, "/messages/-", user("And?")).dump()) == Problems());
    CHECK(validate_request(name, changed(body, "/messages/-", user("And?")).dump()) == Problems());
  }
  check_all(
      {{"gemini", body, "/messages/1", removed, "messages[1]: the first message is not the user's"},
       {"mistral", body, "/stream_options", json::object(), "stream_options: the provider does not know"},
       {"groq", body, "/prompt_cache_key", "key", "prompt_cache_key: the provider does not know"},
       {"mistral", body, "/prompt_cache_key", std::string(65, 'k'),
        "prompt_cache_key: is no text of at most"}});
}

TEST_CASE("images stand where a provider takes them", "[testing][provider]") {
  const json image = {{"type", "image_url"}, {"image_url", {{"url", "https://example.com/cat.png"}}}};
  const json parts = json::array({{{"type", "text"}, {"text", "Look."}}, image});
  json body = plain_chat_body(), deepseek = chat_body();
  CHECK(validate_request("openai", changed(body, "/messages/1/content", parts).dump()) == Problems());
  check_all({
      {"deepseek", deepseek, "/messages/1/content", parts,
       "messages[1].content[1].type: the provider takes only texts"},
      {"openai", body, "/messages/5/content", parts,
       "messages[5].content[1].type: the provider takes only texts"},
      {"openai", body, "/messages/3/content", parts,
       "messages[3].content[1].type: the provider takes only texts"},
  });
  body["messages"][1]["content"] = parts;
  check_all({
      {"openai", body, "/messages/1/content/1/image_url/url", "cat.png",
       "messages[1].content[1].image_url.url: "},
      {"openai", body, "/messages/1/content/1/type", "video",
       "messages[1].content[1].type: there is no part"},
      {"openai", body, "/messages/1/content/0/text", "", "messages[1].content[0].text: is an empty text"},
      {"openai-responses", responses_body(), "/input/0/content/1/image_url", "cat.png",
       "input[0].content[1].image_url: "},
      {"openai-responses", responses_body(), "/input/6/content/0/type", "input_image",
       "input[6].content[0].type: "},
      {"openai-responses", responses_body(), "/input/0/content/0/type", "output_text",
       "input[0].content[0].type: "},
      {"anthropic", messages_body(), "/messages/0/content/1/source/media_type", "text/plain",
       "messages[0].content[1].source: "},
      {"anthropic", messages_body(), "/messages/0/content/1/type", "tool_use",
       "messages[0].content[1].type: "},
  });
}

TEST_CASE("a provider takes only texts, or reasoning that nobody signed, in every dialect",
          "[testing][provider]") {
  const auto refusals = [](const char* name, const json& body, const char* path) {
    return validate_request(name, body.dump(), path);
  };
  CHECK(refusals("deepseek", messages_body(), "/v1/messages") ==
        Problems{"messages[0].content[1].type: the provider takes only texts here"});
  CHECK(refusals("cerebras", responses_body(), "/v1/responses") ==
        Problems{"input[0].content[1].type: the provider takes only texts here"});
  CHECK(refusals("vllm", responses_body(), "/v1/responses") == Problems());
  const json unencrypted =
      changed(changed(responses_body(), "/store", false), "/input/1/encrypted_content", removed);
  CHECK(refusals("openai", unencrypted, "/v1/responses").size() == 1);
  CHECK(refusals("together", unencrypted, "/v1/responses").size() == 1);
  CHECK(refusals("vllm", unencrypted, "/v1/responses") == Problems());
}

TEST_CASE("reasoning goes back as each provider wants it", "[testing][provider]") {
  const json body = chat_body();
  check_all({
      // DeepSeek: with tools, on every answer. Kimi: on those with calls.
      {"deepseek", body, "/messages/2/reasoning_content", removed,
       "messages[2].reasoning_content: the reasoning"},
      {"deepseek", body, "/messages/5/reasoning_content", removed,
       "messages[5].reasoning_content: the reasoning"},
      {"kimi", body, "/messages/2/reasoning_content", removed,
       "messages[2].reasoning_content: the reasoning"},
      {"deepseek", body, "/messages/2/reasoning_content", 1, "messages[2].reasoning_content: is no text"},
      {"openai", plain_chat_body(), "/messages/2/reasoning_content", "a",
       "messages[2].reasoning_content: the provider does"},
      {"groq", plain_chat_body(), "/messages/2/reasoning_content", "a",
       "messages[2].reasoning_content: the provider does"},
      {"cerebras", plain_chat_body(), "/messages/2/reasoning_content", "a",
       "messages[2].reasoning_content: the provider"},
  });
  CHECK(validate_request("kimi", changed(body, "/messages/5/reasoning_content", removed).dump()) ==
        Problems());
  json silent = plain_chat_body();
  silent["thinking"]["type"] = "disabled";
  CHECK(validate_request("deepseek", silent.dump()) == Problems());
}

TEST_CASE("Gemini 3 wants the signature of the first call of each answer in the current turn",
          "[testing][provider]") {
  json body = plain_chat_body();
  body["model"] = "gemini-3-pro";
  CHECK(validate_request("gemini", body.dump()) == Problems());  // the turn with calls is over
  body["messages"].erase(6);
  body["messages"].erase(5);
  body["messages"][2]["tool_calls"][0]["extra_content"]["google"]["thought_signature"] = "s";
  check_all({{"gemini", body, "/messages/2/tool_calls/0/extra_content", removed,
              "messages[2].tool_calls[0].extra_content: the reasoning before the call"}});
  json older = changed(body, "/messages/2/tool_calls/0/extra_content", removed);
  older["model"] = "gemini-2.5-pro";
  CHECK(validate_request("gemini", older.dump()) == Problems());
}

TEST_CASE("what Responses refuses", "[testing][provider]") {
  const json body = responses_body();
  const json reasoning = body["input"][1];
  check_all({
      {"openai-responses", body, "/input", json::array(), "input: is no text"},
      {"openai-responses", body, "/input/1/summary", removed, "input[1].summary: is no list"},
      {"openai-responses", body, "/input/1/encrypted_content", removed,
       "input[1].encrypted_content: is missing"},
      {"openai-responses", body, "/input/1/id", "x", "input[1].id: does not begin with rs_"},
      {"openai-responses", body, "/input/-", reasoning, "input[8]: comes where the answer to the reasoning"},
      {"openai-responses", body, "/input/6", reasoning, "input[7]: comes where the answer to the reasoning"},
      {"openai-responses", body, "/input/6/content/0/text", "", "input[6].content[0].text: is an empty text"},
      {"openai-responses", body, "/input/6/content", json::array(), "input[6].content: is an empty list"},
      {"openai-responses", body, "/input/6/type", "answer", "input[6].type: there is no item of this type"},
      {"openai-responses", body, "/input/0/role", "tool", "input[0].role: the provider does not know"},
      {"openai-responses", body, "/max_output_tokens", 15, "max_output_tokens: is no number of at least 16"},
      {"openai-responses", body, "/stop", "a", "stop: this API does not know"},
      {"openai-responses", body, "/instructions", "", "instructions: is an empty text"},
      {"openai-responses", body, "/tool_choice/name", "then", "tool_choice: \"then\" is the name of no tool"},
      {"openai-responses", body, "/prompt_cache_key", std::string(65, 'k'), "prompt_cache_key: "},
  });
  json stored = changed(body, "/input/1/encrypted_content", removed);
  stored.erase("store");
  CHECK(validate_request("openai-responses", stored.dump()) == Problems());
}

TEST_CASE("what Anthropic refuses beside thinking", "[testing][provider][reasoning]") {
  const json body = messages_body();
  json adaptive = changed(body, "/thinking", json{{"type", "adaptive"}});
  for (const json& thinks : {body, adaptive})
    check_all({
        {"anthropic", thinks, "/tool_choice", json{{"type", "any"}},
         "tool_choice: demands a call beside thinking"},
        {"anthropic", thinks, "/tool_choice", json{{"type", "tool"}, {"name", "now"}},
         "tool_choice: demands a call beside thinking"},
        {"anthropic", thinks, "/temperature", 0.5, "temperature: is not 1 beside thinking"},
        {"anthropic", thinks, "/top_p", 0.9, "top_p: is below 0.95 beside thinking"},
        {"anthropic", thinks, "/top_k", 5, "top_k: is not allowed beside thinking"},
    });
  check_all({
      {"anthropic", body, "/max_tokens", 1024, "thinking.budget_tokens: is not below max_tokens"},
      {"anthropic", body, "/thinking/budget_tokens", 1023,
       "thinking.budget_tokens: is no number of at least 1024"},
      {"anthropic", body, "/thinking/budget_tokens", removed,
       "thinking.budget_tokens: is no number of at least 1024"},
  });
  json plain = changed(body, "/thinking", json{{"type", "disabled"}});
  plain = changed(changed(plain, "/tool_choice", json{{"type", "any"}}), "/max_tokens", 1);
  CHECK(validate_request("anthropic", plain.dump()) == Problems());
}

TEST_CASE("what Anthropic refuses", "[testing][provider]") {
  const json body = messages_body();
  const json mark = {{"type", "ephemeral"}};
  check_all({
      {"anthropic", body, "/max_tokens", removed, "max_tokens: is no number of at least 1"},
      {"anthropic", body, "/temperature", 1.5, "temperature: is no number from 0 to 1"},
      {"anthropic", body, "/messages", json::array(), "messages: is no list with entries"},
      {"anthropic", body, "/messages/0", removed, "messages[0]: the first message is not the user's"},
      {"anthropic", body, "/messages/0/role", "system", "messages[0].role: is neither"},
      {"anthropic", body, "/messages/0/name", "a", "messages[0].name: the provider does not know"},
      {"anthropic", body, "/messages/3/content", "", "messages[3].content: is an empty text"},
      {"anthropic", body, "/messages/3/content", json::array(), "messages[3].content: is an empty list"},
      {"anthropic", body, "/messages/0/content/0/text", " \n",
       "messages[0].content[0].text: is an empty text"},
      {"anthropic", body, "/system/0/text", "", "system[0].text: is an empty text"},
      {"anthropic", body, "/messages/4/role", "assistant", "messages[4]: two answers in a row"},
      {"anthropic", body, "/messages/2/content/1", json{{"type", "text"}, {"text", "Wait."}},
       "messages[2].content[1]: comes before the result"},
      {"anthropic", body, "/messages/1/content/0/signature", removed,
       "messages[1].content[0].signature: is missing"},
      {"anthropic", body, "/messages/1/content/3/data", removed, "messages[1].content[3].data: is missing"},
      {"anthropic", body, "/messages/3/content", json::array({body["messages"][1]["content"][0]}),
       "messages[3].content[0]: reasoning at the end of an answer"},
      {"anthropic", body, "/messages/1/content/0/cache_control", mark,
       "messages[1].content[0].cache_control: is not allowed"},
      {"anthropic", body, "/messages/1/content/1/type", "tool_result",
       "messages[1].content[1].type: there is no block"},
      {"anthropic", body, "/tool_choice/name", "then", "tool_choice: \"then\" is the name of no tool"},
  });
  json running = body;  // the last answer has calls
  running["messages"].erase(4);
  running["messages"].erase(3);
  check_all({{"anthropic", running, "/messages/1/content/0", removed,
              "messages[1].content[0]: the reasoning before the calls"}});
  CHECK(validate_request("anthropic", changed(body, "/messages/1/content/0", removed).dump()) == Problems());
  json marked = body;
  marked["tools"][0]["cache_control"] = mark;
  marked["messages"][0]["content"][0]["cache_control"] = mark;
  marked["messages"][2]["content"][0]["cache_control"] = mark;
  check_all({{"anthropic", marked, "/messages/2/content/2/cache_control", mark,
              "messages[2].content[2].cache_control: is the fifth"}});
}

TEST_CASE("a result of a tool stands before the other blocks of its message", "[testing][provider]") {
  json body = messages_body();
  json& blocks = body["messages"][2]["content"];
  std::swap(blocks[1], blocks[2]);
  const Problems problems = validate_request("anthropic", body.dump());
  REQUIRE(problems.size() >= 2);
  CHECK(problems[0].find("messages[2].content[1]: comes before the result") == 0);
  CHECK(problems[1] == "messages[2].content[2]: the result of a tool behind another block");
}
