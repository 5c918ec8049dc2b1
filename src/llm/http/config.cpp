#include "llm/http/config.hpp"

#include "core/blank.hpp"
#include "core/json_depth.hpp"
#include "core/message_items.hpp"
#include "core/utf8.hpp"
#include "core/validate.hpp"
#include "llm/dialects/json_text.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/request_body.hpp"
#include "llm/dialects/wire_format.hpp"

#include <agentcore/version.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace agentcore::detail::llm {
namespace {

constexpr std::string_view http_scheme = "http://";
constexpr std::string_view https_scheme = "https://";

Error wrong(std::string message) {
  return {Errc::invalid_config, std::move(message)};
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

bool asks_nothing(const ChatRequest& request) {
  if (request.messages.empty()) return false;
  const ChatMessage& last = request.messages.back();
  return last.role == Role::user && last.parts().empty() && core::is_blank(last);
}

std::string_view name_of(ContentPart::Kind kind) noexcept {
  switch (kind) {
    case ContentPart::Kind::image:
      return "an image";
    case ContentPart::Kind::document:
      return "a document";
    case ContentPart::Kind::audio:
      return "audio";
  }
  return "a part";
}

// Why the dialect does not take the part; empty: it does. See ContentPart.
std::string_view refusal_of(const ContentPart& part, bool in_result, Dialect dialect) noexcept {
  const bool chat = dialect == Dialect::openai_chat;
  if (in_result && chat) return "a part in the result of a tool";
  switch (part.kind) {
    case ContentPart::Kind::image:
      return {};
    case ContentPart::Kind::document:
      return chat && !part.url.empty() ? "a document with a URL" : std::string_view();
    case ContentPart::Kind::audio:
      return !chat ? "audio" : part.url.empty() ? std::string_view() : "audio with a URL";
  }
  return {};
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return small;
}

// The host and the rest of the URL; empty when the scheme is missing.
std::string_view after_scheme(std::string_view url) {
  const std::string scheme = lower(url.substr(0, https_scheme.size()));
  if (scheme == https_scheme) return url.substr(https_scheme.size());
  return scheme.starts_with(http_scheme) ? url.substr(http_scheme.size()) : std::string_view{};
}

// Never shows the URL itself: it may contain a secret.
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

// The letters of a header's name, by RFC 9110.
bool is_token(std::string_view text) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const auto fits = [&](char c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '0' && c <= '9') || marks.find(c) != marks.npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

std::optional<Error> check_headers(const HttpLlmOptions& options) {
  for (const std::string& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == header.npos || !is_token(header.substr(0, colon)) || has_control_characters(header))
      return wrong(R"(Each of HttpLlmOptions::headers must be "Name: value" on one line)");
  }
  if (!is_token(options.auth_header))
    return wrong("HttpLlmOptions::auth_header must be the name of a header, e.g. Authorization");
  if (has_control_characters(options.auth_prefix))
    return wrong("HttpLlmOptions::auth_prefix holds a line break or another control character");
  if (!options.agent_header.empty() && !is_token(options.agent_header))
    return wrong("HttpLlmOptions::agent_header must be the name of a header, e.g. x-agent-id, or empty");
  return std::nullopt;
}

// The option may contain the key itself instead of the name of its variable.
std::string variable_named(std::string_view name) {
  const bool is_name = name.size() <= 64 && std::ranges::all_of(name, [](char c) {
                         return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
                       });
  return is_name ? fmt::format("The environment variable {}", name)
                 : "The variable that HttpLlmOptions::api_key_env names (it must be the name of a variable, "
                   "not the key)";
}

std::optional<Error> check_key(const HttpLlmOptions& options) {
  if (!options.api_key.empty() + !options.api_key_env.empty() + (options.api_key_source != nullptr) > 1)
    return wrong("Set only one of HttpLlmOptions::api_key, api_key_env and api_key_source");
  if (!is_sendable(options.api_key))
    return wrong("HttpLlmOptions::api_key holds a line break or another control character; trim it");
  if (options.api_key_env.empty()) return std::nullopt;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): once, when the client is made
  const char* const key = std::getenv(options.api_key_env.c_str());
  if (key == nullptr || *key == '\0')
    return wrong(fmt::format("{} is not set; set it to the key, or change HttpLlmOptions::api_key_env",
                             variable_named(options.api_key_env)));
  if (!is_sendable(key))
    return wrong(fmt::format("{} holds a line break or another control character; trim it",
                             variable_named(options.api_key_env)));
  return std::nullopt;
}

std::optional<Error> check_numbers(const HttpLlmOptions& options) {
  core::Validation validation("HttpLlmOptions");
  validation.positive("connect_timeout", options.connect_timeout)
      .positive("first_byte_timeout", options.first_byte_timeout)
      .positive("stall_timeout", options.stall_timeout)
      .positive("total_timeout", options.total_timeout)
      .count("max_response_bytes", options.max_response_bytes, 1)
      .count("max_line_bytes", options.max_line_bytes, 1)
      .count("max_tokens", options.max_tokens.value_or(1), 1)
      .count("tool_call_id_length", options.tool_call_id_length.value_or(1), 1, 10)
      .count("shortest_tool_name", options.shortest_tool_name, 1, 64);
  for (const auto& [model, prices] : options.prices)
    validation.prices(fmt::format("prices[\"{}\"].", model), prices);
  return validation.problem();
}

std::optional<Error> check_body(const HttpLlmOptions& options) {
  if (options.max_tokens_field.empty())
    return wrong(
        "HttpLlmOptions::max_tokens_field is empty; set it to max_tokens, or to the name that the provider "
        "uses");
  const std::string& extra = options.extra_body;
  if (extra.empty()) return std::nullopt;
  if (core::json_depth(extra) > core::max_json_depth ||
      !nlohmann::json::parse(extra, nullptr, false).is_object())
    return wrong(R"(HttpLlmOptions::extra_body must be the text of a JSON object, e.g. {"top_k": 40})");
  return std::nullopt;
}

std::string url_of(const HttpLlmOptions& options) {
  const std::string& base_url = options.base_url;
  const auto query = base_url.find('?');
  std::string url = base_url.substr(0, query);
  while (url.ends_with('/')) url.pop_back();
  url += wire_format(options.dialect).path();
  return query == base_url.npos ? url : url + base_url.substr(query);
}

// Each value with such a name counts as a password, also a weak one. Hiding "1" would make any text
// unreadable.
constexpr std::size_t shortest_password = 4;

// The values of a URL's query that look like credentials.
void hide_query(std::string_view url, Redactor& redactor) {
  for (auto mark = url.find('?'); mark != url.npos; mark = url.find('&', mark + 1)) {
    const std::string_view rest = url.substr(mark + 1);
    const std::string_view pair = rest.substr(0, rest.find('&'));
    const auto equals = pair.find('=');
    if (equals == pair.npos || !names_credentials(pair.substr(0, equals))) continue;
    redactor.hide(pair.substr(equals + 1), "secret", shortest_password);
  }
}

// The password of "http://user:password@proxy".
void hide_password(std::string_view url, Redactor& redactor) {
  const auto scheme = url.find("://");
  if (scheme != url.npos) url.remove_prefix(scheme + 3);
  const auto end = url.rfind('@');
  if (end == url.npos) return;
  const auto colon = url.find(':');
  if (colon < end) redactor.hide(url.substr(colon + 1, end - colon - 1), "secret", shortest_password);
}

// `name`: in lower case.
bool has_header(const HttpLlmOptions& options, std::string_view name) {
  return std::ranges::any_of(options.headers, [name](std::string_view header) {
    return lower(header.substr(0, header.find(':'))) == name;
  });
}

// The rule of the host or the provider, or that of the dialect, which may be another than the provider's
// usual one.
ReasoningRule reasoning_rule(const HttpLlmOptions& options) {
  ReasoningRule rule = options.reasoning.value_or(rule_of(options.dialect));
  rule.takes_unsigned = rule.takes_unsigned || options.takes_unsigned_reasoning;
  return rule;
}

// A beta of Anthropic, named in a header.
bool asks_for_interleaved_thinking(const HttpLlmOptions& options) {
  return std::ranges::any_of(options.headers, [](std::string_view header) {
    return header.find("interleaved-thinking") != header.npos &&
           lower(header.substr(0, header.find(':'))) == "anthropic-beta";
  });
}

}  // namespace

bool is_sendable(std::string_view key) noexcept {
  return !has_control_characters(key);
}

// "token", but not "tokens": that name is used for limits and counts.
bool names_credentials(std::string_view name) {
  const std::string small = lower(name);
  for (const char* word : {"auth", "key", "secret", "cookie", "password", "signature"})
    if (small.find(word) != name.npos) return true;
  const auto token = small.find("token");
  return token != name.npos && !std::string_view(small).substr(token).starts_with("tokens");
}

std::optional<Error> check_options(const HttpLlmOptions& options) {
  if (auto error = check_base_url(options.base_url)) return error;
  if (auto error = check_headers(options)) return error;
  if (auto error = check_key(options)) return error;
  if (auto error = check_numbers(options)) return error;
  return check_body(options);
}

std::optional<Error> check_parts(const ChatRequest& request, Dialect dialect, bool takes_images) {
  std::size_t number = 0;
  const auto refused = [&](std::string_view what, std::string why) {
    return Error{Errc::unsupported_part,
                 fmt::format("message {} of ChatRequest::messages has {}, {}", number, what, why)};
  };
  for (const ChatMessage& message : request.messages) {
    ++number;
    for (const ContentPart& part : message.parts()) {
      if (!takes_images)
        return refused(name_of(part.kind),
                       "but the server takes only texts (HttpLlmOptions::takes_images is false); remove it "
                       "from the conversation, or ask another server");
      if (const std::string_view what = refusal_of(part, message.role == Role::tool, dialect); !what.empty())
        return refused(what, fmt::format("which Dialect::{} does not take; send its data in base64, or "
                                         "another kind of part",
                                         to_string(dialect)));
    }
  }
  return std::nullopt;
}

std::optional<Error> check_request(const ChatRequest& request, const std::string& default_model) {
  if (request.model.empty() && default_model.empty())
    return wrong("No model is set; set HttpLlmOptions::model or ChatRequest::model");
  if (asks_nothing(request))
    return Error{
        Errc::empty_message,
        "the last of ChatRequest::messages is a user message without text and images; add a text, or "
        "remove the message (some providers would answer the message before it again)"};
  if (request.response_format.kind == ResponseFormat::Kind::json_schema &&
      !has_members(request.response_format.schema))
    return wrong("ChatRequest::response_format.schema must be the text of a JSON object with members");
  if (request.cache_key.size() > core::max_cache_key)
    return wrong("ChatRequest::cache_key has " + std::to_string(request.cache_key.size()) +
                 " bytes; it must have at most " + std::to_string(core::max_cache_key));
  for (const ToolDescription& tool : request.tools)
    if (!tool.parameters.empty() && !is_json_object(tool.parameters))
      return wrong("ToolDescription::parameters of \"" + core::valid_utf8(tool.name) +
                   "\" must be empty or the text of a JSON object");
  return core::Validation("ChatRequest")
      .number("temperature", request.temperature.value_or(0), 0, 2)
      .number("top_p", request.top_p.value_or(0), 0, 1)
      .count("max_tokens", request.max_tokens.value_or(1), 1)
      .problem();
}

std::string server_of(std::string_view base_url) {
  const std::string_view rest = after_scheme(base_url);
  std::string_view host = rest.substr(0, rest.find_first_of("/?#"));
  host.remove_prefix(host.rfind('@') + 1);
  const auto colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find(']', colon) == host.npos;  // "[::1]" has none
  if (!has_port) return lower(host);
  const std::string_view port = host.substr(colon + 1);
  const bool is_secure = base_url.size() - rest.size() == https_scheme.size();
  const bool is_usual = port.empty() || port == (is_secure ? "443" : "80");
  return lower(is_usual ? host.substr(0, colon) : host);
}

std::string header_value(std::string_view text) {
  std::string value;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7F && c != '%')
      value += c;
    else
      value += fmt::format("%{:02X}", byte);
  }
  return value;
}

BodyDefaults body_defaults(const HttpLlmOptions& options) {
  return {options.model,
          options.max_tokens,
          options.max_tokens_field,
          options.extra_body,
          options.tool_call_id_length,
          options.join_user_messages,
          options.prompt_caching,
          options.sends_cache_key,
          reasoning_rule(options),
          options.bridge_tool_results,
          options.tool_names_begin_with_letter,
          options.shortest_tool_name,
          options.sends_empty_schemas,
          options.takes_images,
          asks_for_interleaved_thinking(options)};
}

net::HttpRequest request_template(const HttpLlmOptions& options) {
  net::HttpRequest request;
  request.url = url_of(options);
  request.headers = {"Content-Type: application/json"};
  if (!has_header(options, "user-agent"))
    request.headers.push_back(fmt::format("User-Agent: agentcore/{}", version));
  if (options.dialect == Dialect::anthropic_messages && !has_header(options, "anthropic-version"))
    request.headers.emplace_back(anthropic_version_header);
  request.headers.insert(request.headers.end(), options.headers.begin(), options.headers.end());
  request.connect_timeout = options.connect_timeout;
  request.first_byte_timeout = options.first_byte_timeout;
  request.stall_timeout = options.stall_timeout;
  request.total_timeout = options.total_timeout;
  request.max_response_bytes = options.max_response_bytes;
  request.max_redirects = options.max_redirects;
  request.ca_file = options.ca_file;
  request.proxy = options.proxy;
  return request;
}

// A server quotes a key without the "Bearer" before it, and a cookie without its name. Those prefixes are
// shorter than the shortest text that the redactor hides.
void hide_parts(std::string_view value, Redactor& redactor) {
  constexpr std::string_view between = " \t;,=";
  const auto first = value.find_first_not_of(between);
  if (first == value.npos) return;
  redactor.hide(value.substr(first, value.find_last_not_of(between) - first + 1), "secret");
  while (!value.empty()) {
    const std::string_view part = value.substr(0, value.find_first_of(between));
    redactor.hide(part, "secret");
    value.remove_prefix(std::min(part.size() + 1, value.size()));
  }
}

Redactor redactor_for(const HttpLlmOptions& options) {
  Redactor redactor;
  for (const std::string& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == header.npos || !names_credentials(std::string_view(header).substr(0, colon))) continue;
    hide_parts(std::string_view(header).substr(colon + 1), redactor);
  }
  hide_query(options.base_url, redactor);
  hide_password(options.proxy, redactor);
  return redactor;
}

}  // namespace agentcore::detail::llm
