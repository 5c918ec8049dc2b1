#include "llm/http/config.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace agentcore::llm {
namespace {

constexpr std::string_view http_scheme = "http://";
constexpr std::string_view https_scheme = "https://";

Error wrong(std::string message) {
  return {Errc::invalid_config, std::move(message)};
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// Host and what follows it; empty when the URL does not begin as it must.
std::string_view after_scheme(std::string_view url) {
  const std::string scheme = lower(url.substr(0, https_scheme.size()));
  if (scheme == https_scheme) return url.substr(https_scheme.size());
  return scheme.starts_with(http_scheme) ? url.substr(http_scheme.size()) : std::string_view{};
}

// Never shows the URL itself: someone may have put a secret into it.
std::optional<Error> check_base_url(std::string_view url) {
  if (url.empty())
    return wrong("HttpLlmOptions::base_url is empty; set it, e.g. to https://api.openai.com/v1");
  const std::string_view rest = after_scheme(url);
  const std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  if (host.empty() || host.front() == ':' || has_control_characters(url) || url.find(' ') != url.npos)
    return wrong(
        "HttpLlmOptions::base_url must be http://HOST... or https://HOST..., without spaces, e.g. "
        "https://api.openai.com/v1");
  if (host.find('@') != host.npos)
    return wrong("HttpLlmOptions::base_url must not hold a user or a password; put the key into api_key");
  if (url.find('#') != url.npos)
    return wrong("HttpLlmOptions::base_url must not have a fragment; remove the '#'");
  return std::nullopt;
}

std::optional<Error> check_headers(const HttpLlmOptions& options) {
  if (has_control_characters(options.api_key))
    return wrong("HttpLlmOptions::api_key holds a line break or another control character; trim it");
  for (const std::string& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == 0 || colon == header.npos || header.find(' ') < colon || has_control_characters(header))
      return wrong(R"(Each of HttpLlmOptions::headers must be "Name: value" on one line)");
  }
  return std::nullopt;
}

std::string chat_url(const std::string& base_url) {
  const auto query = base_url.find('?');
  std::string url = base_url.substr(0, query);
  while (url.ends_with('/')) url.pop_back();
  url += "/chat/completions";
  return query == base_url.npos ? url : url + base_url.substr(query);
}

bool names_credentials(std::string_view header) {
  const std::string name = lower(header);
  for (const char* word : {"auth", "key", "token", "secret", "cookie"})
    if (name.find(word) != name.npos) return true;
  return false;
}

}  // namespace

std::optional<Error> check_options(const HttpLlmOptions& options) {
  if (auto error = check_base_url(options.base_url)) return error;
  if (auto error = check_headers(options)) return error;
  const std::pair<Duration, const char*> timeouts[] = {{options.connect_timeout, "connect_timeout"},
                                                       {options.first_byte_timeout, "first_byte_timeout"},
                                                       {options.stall_timeout, "stall_timeout"}};
  for (const auto& [timeout, name] : timeouts)
    if (timeout <= Duration::zero())
      return wrong(fmt::format("HttpLlmOptions::{} must be greater than 0", name));
  if (options.max_response_bytes == 0)
    return wrong("HttpLlmOptions::max_response_bytes must be greater than 0");
  if (options.max_line_bytes == 0) return wrong("HttpLlmOptions::max_line_bytes must be greater than 0");
  return std::nullopt;
}

std::optional<Error> check_request(const ChatRequest& request, const std::string& default_model) {
  if (request.model.empty() && default_model.empty())
    return wrong("No model is named; set HttpLlmOptions::model or ChatRequest::model");
  if (request.temperature && !(*request.temperature >= 0 && *request.temperature <= 2))
    return wrong("ChatRequest::temperature must be between 0 and 2");
  return std::nullopt;
}

net::HttpRequest request_template(const HttpLlmOptions& options) {
  net::HttpRequest request;
  request.url = chat_url(options.base_url);
  request.headers = {"Content-Type: application/json"};
  if (!options.api_key.empty()) request.headers.push_back("Authorization: Bearer " + options.api_key);
  request.headers.insert(request.headers.end(), options.headers.begin(), options.headers.end());
  request.connect_timeout = options.connect_timeout;
  request.first_byte_timeout = options.first_byte_timeout;
  request.stall_timeout = options.stall_timeout;
  request.max_response_bytes = options.max_response_bytes;
  request.ca_file = options.ca_file;
  request.proxy = options.proxy;
  return request;
}

Redactor redactor_for(const HttpLlmOptions& options) {
  Redactor redactor;
  redactor.hide(options.api_key, "api key");
  for (const std::string& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == header.npos || !names_credentials(std::string_view(header).substr(0, colon))) continue;
    const auto value = header.find_first_not_of(' ', colon + 1);
    if (value != header.npos) redactor.hide(header.substr(value), "secret");
  }
  return redactor;
}

}  // namespace agentcore::llm
