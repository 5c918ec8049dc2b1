#include "chat_call.hpp"

#include "request_json.hpp"

#include <algorithm>
#include <array>
#include <charconv>
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

bool is_authorized(const HttpRequest& request, const Options& options, Api api) {
  if (options.api_key.empty()) return true;
  const bool bearer = api == Api::chat;
  const std::string* value = request.header(bearer ? "authorization" : "x-api-key");
  return value != nullptr && *value == (bearer ? "Bearer " : "") + options.api_key;
}

const char* anthropic_type(int status) noexcept {
  if (status == 401) return "authentication_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "api_error" : "invalid_request_error";
}

}  // namespace

std::optional<Fault> fault_named(std::string_view name) noexcept {
  const auto found = std::ranges::find(fault_names, name, &std::pair<std::string_view, Fault>::first);
  return found != fault_names.end() ? std::optional(found->second) : std::nullopt;
}

std::string to_json(const ApiError& error, Api api) {
  const auto or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  json body = {{"error",
                {{"message", error.message},
                 {"type", error.type},
                 {"param", or_null(error.param)},
                 {"code", or_null(error.code)}}}};
  if (api == Api::messages)
    body = {{"type", "error"},
            {"error", {{"type", anthropic_type(error.status)}, {"message", error.message}}}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ApiError> check_api_key(const HttpRequest& request, const Options& options, Api api) {
  if (is_authorized(request, options, api)) return std::nullopt;
  return ApiError{401, "invalid_request_error", "invalid_api_key", {}, "Incorrect API key provided."};
}

std::optional<ApiError> read_chat_call(const HttpRequest& request, const Options& options, ChatCall& call) {
  call.pace = options.pace;
  call.model = options.model;
  if (const auto* agent = request.header("x-agent-id")) call.agent = *agent;
  if (auto error = check_api_key(request, options, call.api)) return error;
  const bool chat = call.api == Api::chat;
  if (!chat && request.header("anthropic-version") == nullptr)
    return bad_request({}, "anthropic-version: header is required");
  const json body = parse_body(request.body);
  if (body.is_discarded())
    return bad_request({}, "The body of your request is not valid JSON (or is nested too deep).");
  if (!body.is_object()) return bad_request({}, "The body of your request must be a JSON object.");
  std::uint64_t limit = 0;
  if (auto error = (chat ? read_chat_json : read_messages_json)(body, call, limit)) return error;
  if (const char* name = read_overrides(request, call)) {
    return bad_request(name, fmt::format("Invalid value of the header '{}'.", name));
  }
  // A length that a header requests is exact: tests that set it need exactly that length.
  const bool forced = request.header("x-standin-tokens") != nullptr;
  if (!forced && limit != 0 && (call.pace.tokens == 0 || limit < call.pace.tokens)) {
    call.pace.tokens = limit;
    call.cut_by_limit = true;
  }
  if (options.prompt_cache) call.parts = (chat ? chat_prompt : messages_prompt)(request.body);
  return std::nullopt;
}

}  // namespace standin
