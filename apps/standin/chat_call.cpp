#include "chat_call.hpp"

#include "answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace standin {
namespace {

using nlohmann::json;

constexpr int max_depth = 64;  // of the request's JSON
constexpr std::uint64_t max_tokens = 100'000'000;
constexpr std::uint64_t max_whole_tokens = 1'000'000;  // of an answer that is not a stream
constexpr double max_rate = 1e6;
constexpr std::size_t max_model_bytes = 256;

constexpr std::array<std::pair<std::string_view, Fault>, 9> fault_names = {{
    {"hang-before-headers", Fault::hang_before_headers},
    {"hang-after-headers", Fault::hang_after_headers},
    {"hang-mid-stream", Fault::hang_mid_stream},
    {"close-mid-stream", Fault::close_mid_stream},
    {"garbage", Fault::garbage},
    {"error-500", Fault::error_500},
    {"error-429", Fault::error_429},
    {"html", Fault::html},
    {"no-done", Fault::no_done},
}};

ApiError bad_request(std::string param, std::string message) {
  return {400, "invalid_request_error", {}, std::move(param), std::move(message)};
}

// The JSON of the body, or a discarded value when it is none or too deep. Depth is cut while parsing, so that
// a megabyte of brackets costs no memory.
json parse_body(const std::string& body) {
  bool too_deep = false;
  const auto keep = [&](int depth, json::parse_event_t, json&) {
    too_deep = too_deep || depth > max_depth;
    return depth <= max_depth;
  };
  json parsed = json::parse(body, keep, false);
  return too_deep ? json(json::value_t::discarded) : parsed;
}

// The text of a message's content: a string, or the text parts of an array.
std::string text_of(const json& message) {
  const auto content = message.find("content");
  if (content == message.end()) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string text;
  if (!content->is_array()) return text;
  for (const json& part : *content) {
    if (!part.is_object()) continue;
    const auto value = part.find("text");
    if (value == part.end() || !value->is_string()) continue;
    if (!text.empty()) text += ' ';
    text += value->get_ref<const std::string&>();
  }
  return text;
}

std::optional<ApiError> read_messages(const json& body, ChatCall& call) {
  const auto messages = body.find("messages");
  if (messages == body.end()) return bad_request("messages", "Missing required parameter: 'messages'.");
  if (!messages->is_array() || messages->empty()) {
    return bad_request("messages", "Invalid 'messages': expected a non-empty array.");
  }
  std::string role;
  std::size_t round = 0;  // answers since the last user message
  for (const json& message : *messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return bad_request("messages", "Invalid 'messages': each one must be an object with a 'role'.");
    }
    std::string text = text_of(message);
    call.prompt_tokens += count_words(text);
    role = message["role"].get<std::string>();
    if (role == "assistant") ++round;
    if (role != "user") continue;
    call.prompt = std::move(text);
    round = 0;
  }
  if (role == "user" || role == "tool") call.script = script_of(call.prompt, round);
  const auto tools = body.find("tools");
  if (tools == body.end() || !tools->is_array() || tools->empty()) call.script.calls.clear();
  return std::nullopt;
}

// A field that may be missing or null; false when it has another type.
template <typename T>
bool read_field(const json& object, const char* name, T& value) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return true;
  if constexpr (std::is_same_v<T, bool>) {
    if (!found->is_boolean()) return false;
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!found->is_string()) return false;
  } else {
    if (!found->is_number_unsigned()) return false;
  }
  value = found->get<T>();
  return true;
}

std::optional<ApiError> read_json(const json& body, ChatCall& call, std::uint64_t& limit) {
  if (auto error = read_messages(body, call)) return error;
  const auto wrong = [](const char* name) {
    return bad_request(name, fmt::format("Invalid type for '{}'.", name));
  };
  if (!read_field(body, "model", call.model) || call.model.size() > max_model_bytes) return wrong("model");
  if (!read_field(body, "stream", call.stream)) return wrong("stream");
  if (call.agent.empty() && !read_field(body, "user", call.agent)) return wrong("user");
  if (!read_field(body, "max_tokens", limit)) return wrong("max_tokens");
  if (!read_field(body, "max_completion_tokens", limit)) return wrong("max_completion_tokens");
  if (const auto options = body.find("stream_options"); options != body.end() && !options->is_null()) {
    if (!options->is_object() || !read_field(*options, "include_usage", call.include_usage)) {
      return wrong("stream_options");
    }
  }
  return std::nullopt;
}

template <typename T>
bool parse_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// The x-standin-* headers. Returns the one that is invalid, or nullptr.
const char* read_overrides(const HttpRequest& request, ChatCall& call) {
  if (const auto* text = request.header("x-standin-tokens")) {
    if (!parse_number(*text, call.pace.tokens) || call.pace.tokens > max_tokens) return "x-standin-tokens";
  }
  if (!call.stream && call.pace.tokens > max_whole_tokens) return "x-standin-tokens";
  if (const auto* text = request.header("x-standin-rate")) {
    if (!parse_number(*text, call.pace.rate) || !(call.pace.rate >= 0 && call.pace.rate <= max_rate)) {
      return "x-standin-rate";
    }
  }
  if (const auto* text = request.header("x-standin-first-token-ms")) {
    if (!parse_number(*text, call.pace.first_token_ms)) return "x-standin-first-token-ms";
  }
  if (const auto* text = request.header("x-standin-calls")) {
    const auto style = call_style_named(*text);
    if (!style) return "x-standin-calls";
    call.call_style = *style;
  }
  if (const auto* text = request.header("x-standin-fault")) {
    const auto fault = fault_named(*text);
    if (!fault) return "x-standin-fault";
    call.fault = *fault;
  }
  return nullptr;
}

bool is_authorized(const HttpRequest& request, const Options& options) {
  if (options.api_key.empty()) return true;
  const std::string* value = request.header("authorization");
  return value != nullptr && *value == "Bearer " + options.api_key;
}

}  // namespace

std::optional<Fault> fault_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(fault_names, name, &std::pair<std::string_view, Fault>::first);
  return found != fault_names.end() ? std::optional(found->second) : std::nullopt;
}

std::string to_json(const ApiError& error) {
  const auto or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  const json body = {{"error",
                      {{"message", error.message},
                       {"type", error.type},
                       {"param", or_null(error.param)},
                       {"code", or_null(error.code)}}}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ApiError> check_api_key(const HttpRequest& request, const Options& options) {
  if (is_authorized(request, options)) return std::nullopt;
  return ApiError{401, "invalid_request_error", "invalid_api_key", {}, "Incorrect API key provided."};
}

std::optional<ApiError> read_chat_call(const HttpRequest& request, const Options& options, ChatCall& call) {
  call.pace = options.pace;
  call.model = options.model;
  if (const auto* agent = request.header("x-agent-id")) call.agent = *agent;
  if (auto error = check_api_key(request, options)) return error;
  const json body = parse_body(request.body);
  if (body.is_discarded())
    return bad_request({}, "The body of your request is not valid JSON (or is nested too deep).");
  if (!body.is_object()) return bad_request({}, "The body of your request must be a JSON object.");
  std::uint64_t limit = 0;
  if (auto error = read_json(body, call, limit)) return error;
  if (const char* name = read_overrides(request, call)) {
    return bad_request(name, fmt::format("Invalid value of the header '{}'.", name));
  }
  // A length that a header requests is exact: tests that set it need exactly that length.
  const bool forced = request.header("x-standin-tokens") != nullptr;
  if (!forced && limit != 0 && (call.pace.tokens == 0 || limit < call.pace.tokens)) {
    call.pace.tokens = limit;
    call.cut_by_limit = true;
  }
  if (options.prompt_cache) call.parts = chat_prompt(request.body);
  return std::nullopt;
}

}  // namespace standin
