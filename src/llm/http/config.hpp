// The checks of HttpLlmOptions, and the values that are derived from the options.
#pragma once

#include "llm/dialects/wire_format.hpp"
#include "llm/http/redactor.hpp"
#include "net/transport.hpp"

#include <agentcore/http_llm_client.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::llm {

// Anthropic's API refuses requests without a version. It is sent where the host has set none.
inline constexpr std::string_view anthropic_version_header = "anthropic-version: 2023-06-01";

// The first invalid option, as an `invalid_config` that has the remedy and shows no value.
std::optional<Error> check_options(const HttpLlmOptions& options);

// The same for one request, and `empty_message` if it ends with an empty question. `default_model` may be
// empty.
std::optional<Error> check_request(const ChatRequest& request, const std::string& default_model);

// The first part of a message that the dialect does not take, or that a server which takes only texts does
// not, as an `unsupported_part`. See ContentPart and HttpLlmOptions::takes_images.
std::optional<Error> check_parts(const ChatRequest& request, Dialect dialect, bool takes_images = true);

// False for a key that cannot be sent in a header.
bool is_sendable(std::string_view key) noexcept;

// `text` as the value of a header: '%' and each byte that is no visible ASCII are written as %XX.
std::string header_value(std::string_view text);

// What the client of these options writes into all bodies.
BodyDefaults body_defaults(const HttpLlmOptions& options);

// A request to the server without the parts that differ from call to call: its body, its Accept header, its
// deadline and its key. The options must have been checked.
net::HttpRequest request_template(const HttpLlmOptions& options);

// The server at an address, for reasoning that is sent back to it: see ReasoningBlock::server.
std::string server_of(std::string_view base_url);

// Also hides the values of further headers and of parts of the addresses that look like credentials.
Redactor redactor_for(const HttpLlmOptions& options);

// True when a header, or a parameter of a URL, has a name that is used for credentials.
bool names_credentials(std::string_view name);

}  // namespace agentcore::detail::llm
