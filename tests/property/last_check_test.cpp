// What is sent passes the rules of each provider, whatever stands in a history.
#include "property/any_history.hpp"
#include "support/prop.hpp"
#include "support/wire/provider_request.hpp"

#include <agentcore/history.hpp>
#include <agentcore/provider.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace agentcore;
using namespace agentcore::test;
using property_test::any_words;
using property_test::HistoryWriter;

namespace {

// Names as models invent them, and as other providers allow them.
rc::Gen<std::string> any_name() {
  return rc::gen::weightedOneOf<std::string>(
      {{3, rc::gen::element<std::string>("look", "win__open", "a-b")},
       {4, rc::gen::element<std::string>("functions.look", "look at it", "<|channel|>", "1st", "x", "-",
                                         "\xC3\xA9", "\xFF", std::string(80, 'n'),
                                         "9" + std::string(63, 'n'))}});
}

rc::Gen<std::string> any_arguments() {
  return rc::gen::weightedOneOf<std::string>(
      {{2, rc::gen::element<std::string>("{}", R"({"a":{"b":[1,"\u00e9"]}})", " {} ")},
       {2, rc::gen::element<std::string>("", "{", "[]", "null", "{}{}", "{\"a\":\"\xFF\"}", R"({"a":1)")},
       {1, any_words()}});
}

rc::Gen<std::string> any_schema() {
  return rc::gen::element<std::string>("", "{}", R"({"type":"object"})",
                                       R"({"type":"object","properties":null})",
                                       R"({"properties":{"a":{"type":"string"}}})",
                                       R"({"type":"object","properties":{"a":{"type":"string"}}})",
                                       R"({"type":"object","additionalProperties":false})");
}

// The schema of a value in the parameters of a tool, as those of MCP servers are.
std::string any_value_schema(int depth) {
  const int kind = *rc::gen::inRange(0, depth == 0 ? 9 : 14);
  const auto inner = [depth] { return any_value_schema(depth - 1); };
  switch (kind) {
    case 0:
      return R"({"type":"array"})";
    case 1:
      return R"({"type":["array","null"],"items":null})";
    case 2:
      return R"({"type":"object","additionalProperties":true})";
    case 3:
      return R"({"type":["object","null"],"required":["b"]})";
    case 4:
      return R"({"properties":{"b":{"type":"integer"}},"required":["b","c"]})";
    case 5:
      return R"({"type":"string","properties":{},"required":[]})";
    case 6:
      return R"({"type":"object","properties":[],"required":["b"]})";
    case 7:
      return "{}";
    case 8:
      return "true";
    case 9:
      return R"({"type":"array","items":)" + inner() + "}";
    case 10:
      return R"({"type":"object","properties":{"b":)" + inner() + R"(},"required":["b"]})";
    case 11:
      return R"({"anyOf":[)" + inner() + "," + inner() + "]}";
    case 12:
      return R"({"type":"object","additionalProperties":)" + inner() + "}";
    default:
      return R"({"type":"array","prefixItems":[)" + inner() + "]}";
  }
}

rc::Gen<std::string> any_nested_schema() {
  return rc::gen::exec([] {
    const std::string required = *rc::gen::element<std::string>(
        "", R"(,"required":["a"])", R"(,"required":["z"])", R"(,"required":null)");
    return R"({"type":"object","properties":{"a":)" + any_value_schema(2) + R"(},"$defs":{"d":)" +
           any_value_schema(1) + "}" + required + "}";
  });
}

// A valid history, whose answers call tools by any names and with any arguments, and whose texts may be
// empty. The last message is one that a model answers.
std::vector<ChatMessage> any_sent_history(bool with_images) {
  std::vector<ChatMessage> history = HistoryWriter(0).write(*rc::gen::inRange(1, 6));
  for (ChatMessage& message : history) {
    if (!with_images) message.remove<ContentPart>();
    if (*rc::gen::inRange(0, 6) == 0) message.set_content(*rc::gen::element<std::string>("", " ", "\n\t"));
    for (ToolCall& call : message.tool_calls()) {
      call.name = *any_name();
      call.arguments = *any_arguments();
    }
  }
  if (history.back().role == Role::assistant) history.push_back(ChatMessage::user("Go on."));
  if (history.back().role == Role::user) history.back().set_content("Go on.");
  return history;
}

ChatRequest any_sent_request(bool with_images) {
  ChatRequest request;
  request.messages = any_sent_history(with_images);
  for (const char* const name : {"look", "win__open", "1st", "_1st", "x", "x_", "look at it", "look_at_it"})
    if (*rc::gen::arbitrary<bool>())
      request.tools.push_back({name, *any_words(), *rc::gen::oneOf(any_schema(), any_nested_schema())});
  for (ToolDescription& tool : request.tools)
    if (tool.description.find_first_not_of(" \n") == std::string::npos) tool.description.clear();
  if (*rc::gen::arbitrary<bool>()) request.tail = "Open windows: none.";
  request.stream = *rc::gen::arbitrary<bool>();
  request.cache_key = *rc::gen::element<std::string>("", "key");
  return request;
}

std::string first_refusal(std::string_view provider, const std::string& body) {
  const std::string why = refusal_of(provider, body);
  return why.empty() ? why : why + " in " + body;
}

// "" if the client refuses the parts of the request and names them, or if the provider takes what is sent.
std::string problem_with(const Provider& provider, const ChatRequest& request) {
  const auto refused = detail::llm::check_parts(request, provider.dialect, provider.takes_images);
  const std::string why = first_refusal(provider.name, body_for(provider.name, request));
  if (!refused) return why;
  return refused->code == Errc::unsupported_part && !why.empty() ? ""
                                                                 : "refused, but taken: " + refused->message;
}

// The list of messages or items, without its last bracket.
std::string list_text(const std::string& body) {
  const auto json = nlohmann::ordered_json::parse(body);
  std::string text = json.at(json.contains("input") ? "input" : "messages").dump();
  text.pop_back();
  return text;
}

}  // namespace

TEST_CASE("whatever stands in a history, each provider takes what is sent of it",
          "[property][llm][provider]") {
  prop("for every row of the table of providers", [] {
    const bool with_images = *rc::gen::arbitrary<bool>();
    const ChatRequest request = any_sent_request(with_images);
    RC_ASSERT(is_valid_history(request.messages));
    for (const Provider& provider : providers()) {
      if (const std::string why = problem_with(provider, request); !why.empty()) RC_FAIL(why);
    }
  });
}

TEST_CASE("what is changed before a message does not depend on what follows it",
          "[property][llm][provider]") {
  prop("so the part of a request that was sent before begins the next one", [] {
    const std::vector<ChatMessage> history = any_sent_history(true);
    const auto end = *rc::gen::inRange<std::size_t>(1, history.size() + 1);
    if (history[end - 1].role != Role::user && history[end - 1].role != Role::tool) return;
    if (end < history.size() && history[end].role == Role::tool) return;
    ChatRequest first, second;
    first.messages.assign(history.begin(), history.begin() + static_cast<std::ptrdiff_t>(end));
    second.messages = history;
    second.sent_before = {end};
    for (const char* const provider : {"openai", "openai-responses", "gemini", "groq"}) {
      const std::string before = list_text(body_for(provider, first));
      RC_ASSERT(list_text(body_for(provider, second)).substr(0, before.size()) == before);
    }
  });
}

TEST_CASE("a request that was checked is not changed again", "[property][llm][provider]") {
  prop("whatever it was", [] {
    for (const Provider& provider : providers()) {
      const HttpLlmOptions options = provider_options(provider.name).value();
      const detail::llm::BodyDefaults defaults = detail::llm::body_defaults(options);
      ChatRequest request = any_sent_request(true);
      detail::llm::last_check(request, options.dialect, defaults);
      const std::vector<ChatMessage> once = request.messages;
      RC_ASSERT(!detail::llm::last_check(request, options.dialect, defaults).any());
      RC_ASSERT(request.messages == once);
    }
  });
}
