// OpenAI Responses: how a request is written.
//
// Nothing is stored at the provider ("store": false): the host holds the history, so each request holds all
// of it, and a model's reasoning is received and sent back encrypted. This API has no stop sequences: they
// are not sent. A summary of the reasoning is not requested, because OpenAI refuses it to organizations that
// are not verified; HttpLlmOptions::extra_body can request it: {"reasoning":{"summary":"auto"}}.
#include "llm/dialects/call_id.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/dialects/openai_responses_reader.hpp"
#include "llm/dialects/openai_tools.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/stable_part.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/message_json.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

// OpenAI's older models do not reason and refuse every request for encrypted reasoning. The name of a
// deployment (Azure) does not show the model: there extra_body can remove the request with {"include":[]}.
bool may_reason(std::string_view model) noexcept {
  static constexpr std::string_view older[] = {"gpt-3", "gpt-4", "gpt-5-chat", "chatgpt-"};
  model.remove_prefix(model.rfind('/') + 1);  // "openai/gpt-4o"
  return std::ranges::none_of(older, [model](std::string_view name) { return model.starts_with(name); });
}

std::string instructions_of(const std::vector<ChatMessage>& messages) {
  std::string all;
  for (const ChatMessage& message : messages) {
    const std::string text = message.role == Role::system ? message.content() : std::string();
    if (text.empty()) continue;
    if (!all.empty()) all += "\n\n";
    all += text;
  }
  return all;
}

std::string text_part(std::string_view type, std::string_view text) {
  return R"({"type":")" + std::string(type) + R"(","text":)" + json_quoted(text) + "}";
}

std::string other_part(const ContentPart& part) {
  if (part.kind != ContentPart::Kind::image) {
    if (!part.url.empty()) return R"({"type":"input_file","file_url":)" + json_quoted(part.url) + "}";
    return R"({"type":"input_file","filename":)" + json_quoted(part.name.empty() ? "document" : part.name) +
           R"(,"file_data":)" + json_quoted(url_of(part)) + "}";
  }
  std::string text = R"({"type":"input_image","image_url":)" + json_quoted(url_of(part));
  if (!part.detail.empty()) text += R"(,"detail":)" + json_quoted(part.detail);
  return text + "}";
}

// With a type, which OpenAI does not need, but llama.cpp does.
std::string message_item(Role role, const std::vector<std::string>& parts, const std::string& phase = {}) {
  return R"({"type":"message","role":")" + std::string(to_string(role)) + '"' +
         (phase.empty() ? "" : R"(,"phase":)" + json_quoted(phase)) + R"(,"content":)" +
         json_list(parts, [](const std::string& part) { return part; }) + "}";
}

constexpr std::size_t longest_id = 64;  // of a call; the API's limit

std::string call_item(const ToolCall& call) {
  return R"({"type":"function_call","call_id":)" + json_quoted(call_id(call.id, 0, longest_id)) +
         R"(,"name":)" + json_quoted(call.name) + R"(,"arguments":)" + json_quoted(call.arguments) + "}";
}

std::string answer_part(const TextItem& text) {
  return text.refusal ? R"({"type":"refusal","refusal":)" + json_quoted(text.text) + "}"
                      : text_part("output_text", text.text);
}

// The text, and those behind it that are of the same item of the provider: one message. Moves `item` to the
// last.
std::string answer_item(const std::vector<MessageItem>& all, std::size_t& item) {
  const TextItem& first = std::get<TextItem>(all[item]);
  std::vector<std::string> parts = {answer_part(first)};
  for (; item + 1 < all.size(); ++item) {
    const auto* const next = std::get_if<TextItem>(&all[item + 1]);
    if (!next || first.id.empty() || next->id != first.id || next->phase != first.phase) break;
    if (!next->text.empty()) parts.push_back(answer_part(*next));
  }
  return message_item(Role::assistant, parts, first.phase);
}

// The output is a text, unless there are other parts.
std::string output_item(const ChatMessage& message, const std::string& tail) {
  std::string content = message.content();
  if (!tail.empty()) content.append("\n\n").append(tail);
  std::string output = json_quoted(content);
  if (!message.parts().empty()) {
    std::vector<std::string> parts;
    if (!content.empty()) parts.push_back(text_part("input_text", content));
    for (const ContentPart& part : message.parts()) parts.push_back(other_part(part));
    output = json_list(parts, [](const std::string& part) { return part; });
  }
  return R"({"type":"function_call_output","call_id":)" +
         json_quoted(call_id(message.tool_call_id, 0, longest_id)) + R"(,"output":)" + output + "}";
}

void add_user_parts(std::vector<std::string>& parts, const ChatMessage& message) {
  const std::size_t before = parts.size();
  for (const MessageItem& item : message.items) {
    if (const auto* const text = std::get_if<TextItem>(&item); text && !text->text.empty())
      parts.push_back(text_part("input_text", text->text));
    else if (const auto* const part = std::get_if<ContentPart>(&item))
      parts.push_back(other_part(*part));
  }
  if (parts.size() == before) parts.push_back(text_part("input_text", {}));
}

// Reasoning stands right before the item that it led to. The API refuses reasoning without such an item, so
// it is left out. `reasons`: the model does.
void add_answer(std::vector<std::string>& items, const ChatMessage& message, bool reasons) {
  std::vector<std::string> reasoning;  // without its item so far
  const auto add = [&](std::string item) {
    std::move(reasoning.begin(), reasoning.end(), std::back_inserter(items));
    reasoning.clear();
    items.push_back(std::move(item));
  };
  for (std::size_t i = 0; i < message.items.size(); ++i) {
    const MessageItem& item = message.items[i];
    if (const auto* const text = std::get_if<TextItem>(&item); text && !text->text.empty()) {
      add(answer_item(message.items, i));
    } else if (const auto* const call = std::get_if<ToolCall>(&item)) {
      add(call_item(*call));
    } else if (const auto* const block = std::get_if<ReasoningBlock>(&item);
               block && reasons && is_of(*block, Dialect::openai_responses) && is_json_object(block->data)) {
      reasoning.push_back(block->data);
    }
  }
}

// Consecutive messages of the role user become one item with the parts of all. OpenAI takes several items as
// well, but local servers of this dialect apply chat templates to them, and strict templates refuse them.
// docs/design/llm-client.md explains what is joined. The tail is the last part of a last user message; after
// the result of a tool it is an item of its own, or for strict templates, a paragraph of the result.
std::vector<std::string> input_items(const ChatRequest& request, bool reasons, JoinUserMessages join) {
  const std::vector<ChatMessage>& messages = request.messages;
  std::vector<std::string> items, parts;
  std::string tail = request.tail;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    const bool is_last = i + 1 == messages.size();
    switch (message.role) {
      case Role::system:
        break;
      case Role::user:
        add_user_parts(parts, message);
        if (!is_last && messages[i + 1].role == Role::user && may_join(request, i + 1, join)) break;
        if (is_last && !tail.empty()) parts.push_back(text_part("input_text", std::exchange(tail, {})));
        items.push_back(message_item(message.role, std::exchange(parts, {})));
        break;
      case Role::assistant:
        add_answer(items, message, reasons);
        break;
      case Role::tool:
        items.push_back(output_item(
            message, is_last && join == JoinUserMessages::always ? std::exchange(tail, {}) : std::string()));
        break;
    }
  }
  if (!tail.empty()) items.push_back(message_item(Role::user, {text_part("input_text", tail)}));
  return items;
}

// Written by hand, so that the parameters keep their order. Not strict, although strict is the API's default:
// few schemas are written for it.
std::string responses_tool(const ToolDescription& tool) {
  std::string text = R"({"type":"function","name":)" + json_quoted(tool.name);
  if (!tool.description.empty()) text += R"(,"description":)" + json_quoted(tool.description);
  return text + R"(,"parameters":)" + parameters_text(tool.parameters) + R"(,"strict":false})";
}

std::string responses_choice(const std::string& name) {
  return R"({"type":"function","name":)" + json_quoted(name) + "}";
}

void set_text_format(RequestBody& body, const ResponseFormat& format) {
  if (format.kind == ResponseFormat::Kind::json_object) {
    body.set("text", std::string(R"({"format":{"type":"json_object"}})"));
  } else if (format.kind == ResponseFormat::Kind::json_schema) {
    const std::string name = json_quoted(format.name.empty() ? "answer" : format.name);
    body.set("text", R"({"format":{"type":"json_schema","name":)" + name + R"(,"strict":)" +
                         (format.strict ? "true" : "false") + R"(,"schema":)" +
                         answer_schema_text(format.schema) + "}}");
  }
}

void set_limits(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults) {
  if (request.temperature) body.set("temperature", nlohmann::json(*request.temperature));
  if (request.top_p) body.set("top_p", nlohmann::json(*request.top_p));
  constexpr std::uint32_t least = 16;  // the API refuses a smaller one
  if (const auto limit = request.max_tokens ? request.max_tokens : defaults.max_tokens)
    body.set("max_output_tokens", std::to_string(std::max(*limit, least)));
  if (!request.reasoning_effort.empty())
    body.set("reasoning", R"({"effort":)" + json_quoted(request.reasoning_effort) + "}");
}

class OpenAiResponses final : public WireFormat {
 public:
  Dialect dialect() const noexcept override { return Dialect::openai_responses; }
  std::string_view path() const noexcept override { return "/responses"; }
  std::string body(const ChatRequest& request, const BodyDefaults& defaults) const override;
  std::unique_ptr<AnswerReader> make_reader() const override {
    return std::make_unique<OpenAiResponsesReader>();
  }
  // Blocks are complete.
  std::string reasoning_block(const ReasoningPiece&, bool) const override { return {}; }
};

std::string OpenAiResponses::body(const ChatRequest& request, const BodyDefaults& defaults) const {
  const std::string& model = request.model.empty() ? defaults.model : request.model;
  const bool reasons = may_reason(model);
  RequestBody body;
  body.set_text("model", model);
  if (const std::string all = instructions_of(request.messages); !all.empty())
    body.set_text("instructions", all);
  body.set("input", json_list(input_items(request, reasons, defaults.join_user_messages),
                              [](const std::string& item) { return item; }));
  set_openai_tools(body, request, responses_tool, responses_choice);
  set_text_format(body, request.response_format);
  set_limits(body, request, defaults);
  body.set("store", std::string("false"));
  if (reasons) body.set("include", std::string(R"(["reasoning.encrypted_content"])"));
  if (request.stream) body.set("stream", std::string("true"));
  set_cache_key(body, request, defaults);
  body.merge(defaults.extra_body);
  return body.text();
}

}  // namespace

const WireFormat& openai_responses() noexcept {
  static const OpenAiResponses format;
  return format;
}

}  // namespace agentcore::detail::llm
