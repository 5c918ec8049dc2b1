// OpenAI chat completions: how a request is written.
#include "llm/dialects/openai_chat_message.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/dialects/openai_tools.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/stable_part.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/message_json.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// Written by hand, so that the parameters keep their order.
std::string chat_tool_without_schema(const ToolDescription& tool) {
  std::string text = R"({"type":"function","function":{"name":)" + json_quoted(tool.name);
  if (!tool.description.empty()) text += R"(,"description":)" + json_quoted(tool.description);
  return text + "}}";
}

std::string chat_tool(const ToolDescription& tool) {
  std::string text = chat_tool_without_schema(tool);
  text.resize(text.size() - 2);
  return text + R"(,"parameters":)" + parameters_text(tool.parameters) + "}}";
}

std::string chat_tool_with_parameters(const ToolDescription& tool) {
  return takes_parameters(tool.parameters) ? chat_tool(tool) : chat_tool_without_schema(tool);
}

std::string chat_choice(const std::string& name) {
  return R"({"function":{"name":)" + json_quoted(name) + R"(},"type":"function"})";
}

void set_response_format(RequestBody& body, const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::json_object) {
    body.set("response_format", nlohmann::json{{"type", "json_object"}});
  } else if (format.kind == ResponseFormat::Kind::json_schema) {
    const std::string name = json_quoted(format.name.empty() ? "answer" : format.name);
    body.set("response_format", R"({"type":"json_schema","json_schema":{"name":)" + name + R"(,"strict":)" +
                                    (format.strict ? "true" : "false") + R"(,"schema":)" +
                                    answer_schema_text(format.schema) + "}}");
  }
}

nlohmann::json message_entry(std::span<const ChatMessage> messages, const BodyDefaults& defaults,
                             bool offers_tools) {
  if (messages.size() > 1) return user_message_json(messages);
  nlohmann::json entry = message_json(messages.front());
  add_reasoning(messages.front(), defaults.reasoning.value_or(rule_of(Dialect::openai_chat)), offers_tools,
                entry);
  fit_call_ids(defaults.tool_call_id_length.value_or(0), entry);
  return entry;
}

// Adds the tail to the last entry. False: it must be an entry of its own. A text gets no list of parts: it
// would have to be written as a list in later requests, too, and some servers do not accept lists.
bool add_tail(const std::string& tail, bool joins, nlohmann::json& entry) {
  nlohmann::json& content = entry["content"];
  if (content.is_array()) {
    content.push_back({{"type", "text"}, {"text", tail}});
    return true;
  }
  const auto& role = entry["role"].get_ref<const std::string&>();
  if (!joins || (role != "user" && role != "tool")) return false;
  auto& text = content.get_ref<std::string&>();
  text += (text.empty() ? "" : "\n\n") + tail;
  return true;
}

// The strict chat templates of many models refuse two consecutive messages of the role user, and a user
// message after the result of a tool. docs/design/llm-client.md explains what is joined.
std::string messages_text(const ChatRequest& request, const BodyDefaults& defaults) {
  const std::vector<ChatMessage>& messages = request.messages;
  std::vector<nlohmann::json> entries;
  for (std::size_t first = 0; first < messages.size();) {
    std::size_t last = first + 1;
    const auto joins_next = [&] {
      return messages[first].role == Role::user && messages[last].role == Role::user &&
             may_join(request, last, defaults.join_user_messages);
    };
    while (last < messages.size() && joins_next()) ++last;
    entries.push_back(
        message_entry(std::span(messages).subspan(first, last - first), defaults, !request.tools.empty()));
    first = last;
  }
  const bool joins_tail = defaults.join_user_messages == JoinUserMessages::always;
  if (!request.tail.empty() && (entries.empty() || !add_tail(request.tail, joins_tail, entries.back())))
    entries.push_back(message_json(ChatMessage::user(request.tail)));
  return json_list(entries, json_text);
}

class OpenAiChat final : public WireFormat {
 public:
  Dialect dialect() const noexcept override { return Dialect::openai_chat; }
  std::string_view path() const noexcept override { return "/chat/completions"; }
  std::string body(const ChatRequest& request, const BodyDefaults& defaults) const override {
    return openai_chat_body(request, defaults);
  }
  std::unique_ptr<AnswerReader> make_reader() const override { return std::make_unique<OpenAiChatReader>(); }
  std::string reasoning_block(const ReasoningPiece& whole, bool) const override {
    return R"({"reasoning_content":)" + json_quoted(whole.text) + "}";
  }
};

}  // namespace

std::string openai_chat_body(const ChatRequest& request, const BodyDefaults& defaults) {
  RequestBody body;
  body.set_text("model", request.model.empty() ? defaults.model : request.model);
  body.set("messages", messages_text(request, defaults));
  set_openai_tools(body, request, defaults.sends_empty_schemas ? chat_tool : chat_tool_with_parameters,
                   chat_choice);
  set_response_format(body, request.response_format);
  if (request.temperature) body.set("temperature", nlohmann::json(*request.temperature));
  if (request.top_p) body.set("top_p", nlohmann::json(*request.top_p));
  if (const auto limit = request.max_tokens ? request.max_tokens : defaults.max_tokens)
    body.set(defaults.max_tokens_field, std::to_string(*limit));
  if (!request.stop_sequences.empty()) body.set("stop", nlohmann::json(request.stop_sequences));
  if (!request.reasoning_effort.empty()) body.set_text("reasoning_effort", request.reasoning_effort);
  if (request.stream) {
    body.set("stream", std::string("true"));
    body.set("stream_options", nlohmann::json{{"include_usage", true}});
  }
  set_cache_key(body, request, defaults);
  body.merge(defaults.extra_body);
  return body.text();
}

const WireFormat& openai_chat() noexcept {
  static const OpenAiChat format;
  return format;
}

}  // namespace agentcore::detail::llm
