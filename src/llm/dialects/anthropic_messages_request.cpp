// Anthropic Messages: how a request is written.
#include "llm/dialects/anthropic_messages_content.hpp"
#include "llm/dialects/anthropic_messages_reader.hpp"
#include "llm/dialects/anthropic_thinking.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

constexpr std::uint32_t usual_max_tokens =
    4096;  // the API has no default limit and refuses a request without one

// Written by hand, so that the parameters keep their order.
std::string messages_tool(const ToolDescription& tool) {
  std::string text = R"({"name":)" + json_quoted(tool.name);
  if (!tool.description.empty()) text += R"(,"description":)" + json_quoted(tool.description);
  return text + R"(,"input_schema":)" + parameters_text(tool.parameters) + "}";
}

// A mark needs a block to stand in.
void set_system(RequestBody& body, const std::string& system, bool marks) {
  if (system.empty()) return;
  if (!marks) return body.set_text("system", system);
  body.set("system", "[" + with_cache_mark(anthropic_text_block(system)) + "]");
}

// Empty: the API's default.
std::string tool_choice_text(const ToolChoice& choice, bool one_call_only) {
  const std::string limit = one_call_only ? R"(,"disable_parallel_tool_use":true})" : "}";
  switch (choice.mode) {
    case ToolChoice::Mode::automatic:
      break;
    case ToolChoice::Mode::none:
      return R"({"type":"none"})";
    case ToolChoice::Mode::required:
      return R"({"type":"any")" + limit;
    case ToolChoice::Mode::named:
      return R"({"type":"tool","name":)" + json_quoted(choice.name) + limit;
  }
  return one_call_only ? R"({"type":"auto")" + limit : "";
}

void set_tool_choice(RequestBody& body, const ChatRequest& request) {
  std::string choice = tool_choice_text(request.tool_choice, request.parallel_tool_calls == false);
  if (!choice.empty()) body.set("tool_choice", std::move(choice));
}

void set_limit(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults) {
  const std::uint32_t usual = defaults.max_tokens.value_or(usual_max_tokens);
  body.set("max_tokens", std::to_string(request.max_tokens.value_or(usual)));
}

void set_sampling(RequestBody& body, const ChatRequest& request) {
  if (request.temperature)
    body.set("temperature", nlohmann::json(std::clamp(*request.temperature, 0.0, 1.0)));
  if (request.top_p) body.set("top_p", nlohmann::json(*request.top_p));
}

void set_tools(RequestBody& body, const ChatRequest& request, bool marks) {
  if (request.tools.empty()) return;
  const ToolDescription* const marked = marks ? &request.tools.back() : nullptr;
  body.set("tools", json_list(request.tools, [marked](const ToolDescription& tool) {
             return &tool == marked ? with_cache_mark(messages_tool(tool)) : messages_tool(tool);
           }));
  set_tool_choice(body, request);
}

void set_output(RequestBody& body, const ChatRequest& request) {
  RequestBody output;
  if (!request.reasoning_effort.empty()) output.set_text("effort", request.reasoning_effort);
  const ResponseFormat& format = request.response_format;
  if (format.kind == ResponseFormat::Kind::json_schema)
    output.set("format", R"({"type":"json_schema","schema":)" + answer_schema_text(format.schema) + "}");
  if (std::string text = output.text(); text != "{}") body.set("output_config", std::move(text));
}

class AnthropicMessages final : public WireFormat {
 public:
  Dialect dialect() const noexcept override { return Dialect::anthropic_messages; }
  std::string_view path() const noexcept override { return "/messages"; }
  std::string body(const ChatRequest& request, const BodyDefaults& defaults) const override {
    return anthropic_messages_body(request, defaults);
  }
  std::unique_ptr<AnswerReader> make_reader() const override {
    return std::make_unique<AnthropicMessagesReader>();
  }
  // Anthropic refuses reasoning without its signature.
  std::string reasoning_block(const ReasoningPiece& whole, bool unsigned_too) const override {
    if (whole.signature.empty() && (!unsigned_too || whole.text.empty())) return {};
    return R"({"type":"thinking","thinking":)" + json_quoted(whole.text) +
           (whole.signature.empty() ? "" : R"(,"signature":)" + json_quoted(whole.signature)) + "}";
  }
};

}  // namespace

void set_anthropic_options(RequestBody& body, const ChatRequest& request, const BodyDefaults& defaults) {
  set_limit(body, request, defaults);
  if (!request.tools.empty()) set_tool_choice(body, request);
  set_sampling(body, request);
}

std::string anthropic_messages_body(const ChatRequest& request, const BodyDefaults& defaults) {
  RequestBody body;
  body.set_text("model", request.model.empty() ? defaults.model : request.model);
  set_limit(body, request, defaults);
  set_system(body, anthropic_system(request.messages), defaults.prompt_caching);
  body.set("messages", anthropic_messages_list(request, defaults));
  set_tools(body, request, defaults.prompt_caching);
  set_sampling(body, request);
  if (!request.stop_sequences.empty()) body.set("stop_sequences", nlohmann::json(request.stop_sequences));
  set_output(body, request);
  if (request.stream) body.set("stream", std::string("true"));
  body.merge(defaults.extra_body);
  fit_thinking(body, request, defaults);
  return body.text();
}

const WireFormat& anthropic_messages() noexcept {
  static const AnthropicMessages format;
  return format;
}

}  // namespace agentcore::detail::llm
