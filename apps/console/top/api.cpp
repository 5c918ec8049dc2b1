#include "console/top/api.hpp"

#include "console/token_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace console_app::top {
namespace {

// Errors of some routes are a code alone.
std::string problem_in(const Json& json, long status) {
  if (std::string message = text_in(json, "message"); !message.empty()) return message;
  std::string code = text_in(json, "error");
  std::replace(code.begin(), code.end(), '_', ' ');
  return code.empty() ? fmt::format("the server answers with HTTP {}", status) : code;
}

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string encoded;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_plain = (byte | 0x20U) - unsigned{'a'} < 26U || byte - unsigned{'0'} < 10U ||
                          std::string_view("-_.!~*'()").find(character) != std::string_view::npos;
    encoded += is_plain ? std::string(1, character) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

std::string Api::agent_path(std::string_view id) {
  return "api/agent/" + percent_encoded(id);
}

Api::Api(Http& http, const Settings& settings)
    : http_(http),
      url_(settings.url),
      token_(settings.token_file.empty() ? "" : read_token(settings.token_file)) {
  while (url_.ends_with('/')) url_.pop_back();
}

HttpRequest Api::request(std::string method, const std::string& path) const {
  HttpRequest result{.method = std::move(method), .url = url_ + "/" + path};
  if (!token_.empty()) result.headers.push_back("Authorization: Bearer " + token_);
  return result;
}

Http::Id Api::get(const std::string& path, OnAnswer on_answer) {
  return send("GET", path, nullptr, std::move(on_answer));
}

Http::Id Api::send(const std::string& method, const std::string& path, const Json& body, OnAnswer on_answer) {
  HttpRequest sent = request(method, path);
  if (!body.is_null()) {
    sent.headers.emplace_back("Content-Type: application/json");
    sent.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return http_.start(std::move(sent),
                     {.on_end = [this, on_answer = std::move(on_answer)](const HttpAnswer& answer) {
                       on_answer(answer_of(answer));
                     }});
}

Http::Id Api::follow(const std::string& after, std::string_view text_of, StreamHandlers handlers) {
  HttpRequest sent =
      request("GET", "api/events" + (text_of.empty() ? "" : "?text=" + percent_encoded(text_of)));
  sent.stream = true;
  const bool is_plain = std::all_of(after.begin(), after.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!after.empty() && is_plain) sent.headers.push_back("Last-Event-ID: " + after);
  return http_.start(std::move(sent), {.on_end = [this, on_end = std::move(handlers.on_end)](
                                                     const HttpAnswer& answer) { on_end(answer_of(answer)); },
                                       .on_open = std::move(handlers.on_open),
                                       .on_data = std::move(handlers.on_data)});
}

Answer Api::answer_of(const HttpAnswer& answer) const {
  Answer result{.status = answer.status};
  if (!answer.failure.empty()) {
    result.problem = fmt::format("no answer from {}: {}", url_, answer.failure);
    return result;
  }
  result.json = Json::parse(answer.body, nullptr, false);
  if (answer.status < 200 || answer.status >= 300)
    result.problem = problem_in(result.json, answer.status);
  else if (!result.json.is_object())
    result.problem = fmt::format("{} answers with something that is no console's", url_);
  if (answer.status == 401) result.problem += " (--token-file)";
  return result;
}

}  // namespace console_app::top
