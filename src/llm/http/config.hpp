// What HttpLlmOptions must be, and what follows from them.
#pragma once

#include "llm/http/redactor.hpp"
#include "net/transport.hpp"

#include <agentcore/http_llm_client.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace agentcore::llm {

// The first option that makes no sense, as an `invalid_config` that says what to change and shows no value.
std::optional<Error> check_options(const HttpLlmOptions& options);

// The same for one request, and `empty_message` if it ends with an empty question. `default_model` may be
// empty.
std::optional<Error> check_request(const ChatRequest& request, const std::string& default_model);

// False for a key that cannot be sent in a header.
bool is_sendable(std::string_view key) noexcept;

// `text` as the value of a header: '%' and each byte that is no visible ASCII are written as %XX.
std::string header_value(std::string_view text);

// Everything of a request to the server but what differs from call to call: its body, its Accept header, its
// deadline and its key. The options were checked.
net::HttpRequest request_template(const HttpLlmOptions& options);

// Whose thoughts are whose, by the address of the API: see ReasoningBlock::server.
std::string server_of(std::string_view base_url);

// Knows the values of further headers and of parts of the addresses that look like credentials.
Redactor redactor_for(const HttpLlmOptions& options);

// Whether a header, or a parameter of a URL, is called as those are that hold credentials.
bool names_credentials(std::string_view name);

}  // namespace agentcore::llm
