// What HttpLlmOptions must be, and what follows from them.
#pragma once

#include "llm/http/redactor.hpp"
#include "net/transport.hpp"

#include <agentcore/http_llm_client.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agentcore::llm {

// The first option that makes no sense, as an `invalid_config` that says what to change.
std::optional<Error> check_options(const HttpLlmOptions& options);

// The same for one request. `default_model` may be empty.
std::optional<Error> check_request(const ChatRequest& request, const std::string& default_model);

// Everything of a request to the server but its body and its Accept header. The options were checked.
net::HttpRequest request_template(const HttpLlmOptions& options);

// Knows the key, and the values of further headers that look like credentials.
Redactor redactor_for(const HttpLlmOptions& options);

}  // namespace agentcore::llm
