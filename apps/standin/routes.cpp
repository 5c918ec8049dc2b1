#include "routes.hpp"

#include "answer.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace standin {
namespace {

enum class Page : std::uint8_t { chat, messages, models, health, records, stats };

struct Route {
  std::string_view path;
  Page page;
  std::string_view methods;
};

constexpr std::array<Route, 9> route_table = {{
    {"/v1/chat/completions", Page::chat, "POST"},
    {"/chat/completions", Page::chat, "POST"},
    {"/v1/messages", Page::messages, "POST"},
    {"/messages", Page::messages, "POST"},
    {"/v1/models", Page::models, "GET"},
    {"/models", Page::models, "GET"},
    {"/health", Page::health, "GET"},
    {"/standin/records", Page::records, "GET, DELETE"},
    {"/standin/stats", Page::stats, "GET"},
}};

const Route* route_of(const HttpRequest& request) noexcept {
  const auto found = std::ranges::find(route_table, std::string_view(request.path), &Route::path);
  return found != route_table.end() ? &*found : nullptr;
}

bool allows(const Route& route, std::string_view method) noexcept {
  std::string_view methods = route.methods;
  while (!methods.empty()) {
    const std::string_view one = methods.substr(0, methods.find(", "));
    if (one == method) return true;
    methods.remove_prefix(std::min(one.size() + 2, methods.size()));
  }
  return false;
}

std::string answer_json(const HttpRequest& request, int status, std::string_view body,
                        std::string_view extra = {}) {
  if (request.method == "HEAD") return http_head(status, "application/json", body.size(), false, extra);
  return http_answer(status, "application/json", body, request.keep_alive, extra);
}

std::string answer_api_error(const HttpRequest& request, const ApiError& error, std::string_view extra = {}) {
  return answer_json(request, error.status, to_json(error), extra);
}

std::string models_json(const Options& options) {
  std::string name;
  append_json_escaped(name, options.model);
  return fmt::format(
      R"({{"object":"list","data":[{{"id":"{}","object":"model","created":1700000000,"owned_by":"standin"}}]}})",
      name);
}

// The value of `since` in the query, 0 when there is none; nullopt when it is no number.
std::optional<std::uint64_t> since_of(std::string_view query) {
  if (query.empty()) return 0;
  if (!query.starts_with("since=")) return std::nullopt;
  query.remove_prefix(6);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(query.data(), query.data() + query.size(), value);
  if (error != std::errc{} || end != query.data() + query.size()) return std::nullopt;
  return value;
}

std::string answer_records(const HttpRequest& request, RecordLog& log) {
  if (request.method == "DELETE") {
    log.clear();
    return answer_json(request, 200, "{\"cleared\":true}\n");
  }
  const auto since = since_of(request.query);
  if (!since) {
    return answer_api_error(request, {400, "invalid_request_error", {}, "since", "since must be a number."});
  }
  return answer_json(request, 200, to_json(log.records(*since)));
}

}  // namespace

std::optional<Api> api_of(const HttpRequest& request) noexcept {
  const Route* route = route_of(request);
  if (route == nullptr || request.method != "POST") return std::nullopt;
  if (route->page == Page::chat) return Api::chat;
  return route->page == Page::messages ? std::optional(Api::messages) : std::nullopt;
}

std::string answer_plain(const HttpRequest& request, const Options& options, RecordLog& log) {
  const Route* route = route_of(request);
  if (route == nullptr) {
    return answer_api_error(request,
                            {404,
                             "invalid_request_error",
                             "unknown_url",
                             {},
                             fmt::format("Unknown request URL: {} {}.", request.method, request.path)});
  }
  if (!allows(*route, request.method)) {
    return answer_api_error(request,
                            {405, "invalid_request_error", "method_not_supported", {}, "Method not allowed."},
                            fmt::format("allow: {}\r\n", route->methods));
  }
  switch (route->page) {
    case Page::records:
      return answer_records(request, log);
    case Page::stats:
      return answer_json(request, 200, to_json(log.stats()));
    case Page::models:
      if (const auto error = check_api_key(request, options)) return answer_api_error(request, *error);
      return answer_json(request, 200, models_json(options));
    default:
      return answer_json(request, 200, "{\"status\":\"ok\"}\n");
  }
}

std::string answer_error(const HttpError& error) {
  const ApiError body{
      error.status, "invalid_request_error", {}, {}, fmt::format("Bad HTTP: {}.", error.reason)};
  return http_answer(error.status, "application/json", to_json(body), false);
}

}  // namespace standin
