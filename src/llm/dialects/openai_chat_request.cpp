// OpenAI chat completions: how a request is written.
#include "llm/dialects/openai_chat_message.hpp"
#include "llm/dialects/openai_chat_reader.hpp"
#include "llm/dialects/openai_tools.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// Written by hand, so that the parameters keep their order.
std::string chat_tool(const ToolDescription& tool) {
  std::string text = R"({"type":"function","function":{"name":)" + json_quoted(tool.name);
  if (!tool.description.empty()) text += R"(,"description":)" + json_quoted(tool.description);
  return text + R"(,"parameters":)" + parameters_text(tool.parameters) + "}}";
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

std::string message_text(const ChatMessage& message, const BodyDefaults& defaults) {
  nlohmann::json entry = openai_chat_message(message);
  add_reasoning(message, defaults.server, entry);
  fit_call_ids(defaults.tool_call_id_length.value_or(0), entry);
  return json_text(entry);
}

// The strict chat templates of many models refuse two consecutive messages of the role user, which a history
// has after an answer was stopped. Such messages are joined.
//
// This client marks no messages for a provider's cache yet. When it does, nothing may be joined into a
// message with a mark, or into one that may have been cached as the last message of an earlier request: the
// message would change, and the cache would not match from there on.
std::string messages_text(const std::vector<ChatMessage>& messages, const BodyDefaults& defaults) {
  std::string list = "[";
  const auto is_other = [](const ChatMessage& message) { return message.role != Role::user; };
  for (auto first = messages.begin(); first != messages.end();) {
    auto last = first + 1;
    if (defaults.join_user_messages && !is_other(*first)) last = std::find_if(last, messages.end(), is_other);
    if (list.size() > 1) list += ',';
    list += last - first == 1 ? message_text(*first, defaults)
                              : json_text(openai_chat_user_message({first, last}));
    first = last;
  }
  return list + "]";
}

class OpenAiChat final : public WireFormat {
 public:
  Dialect dialect() const noexcept override { return Dialect::openai_chat; }
  std::string_view path() const noexcept override { return "/chat/completions"; }
  std::string body(const ChatRequest& request, const BodyDefaults& defaults) const override {
    return openai_chat_body(request, defaults);
  }
  std::unique_ptr<AnswerReader> make_reader() const override { return std::make_unique<OpenAiChatReader>(); }
  bool keeps_reasoning_without_calls() const noexcept override { return false; }  // see add_reasoning()
  std::string reasoning_block(const ReasoningPiece& whole) const override {
    return R"({"reasoning_content":)" + json_quoted(whole.text) + "}";
  }
};

}  // namespace

std::string openai_chat_body(const ChatRequest& request, const BodyDefaults& defaults) {
  RequestBody body;
  body.set_text("model", request.model.empty() ? defaults.model : request.model);
  body.set("messages", messages_text(request.messages, defaults));
  set_openai_tools(body, request, chat_tool, chat_choice);
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
  body.merge(defaults.extra_body);
  return body.text();
}

const WireFormat& openai_chat() noexcept {
  static const OpenAiChat format;
  return format;
}

}  // namespace agentcore::detail::llm
