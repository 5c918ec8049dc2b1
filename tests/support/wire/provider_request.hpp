// What is sent to a provider, and whether it would take it.
#pragma once

#include "llm/dialects/last_check.hpp"
#include "llm/dialects/own_reasoning.hpp"
#include "llm/dialects/wire_format.hpp"
#include "llm/http/config.hpp"

#include <agentcore/provider.hpp>
#include <agentcore/testing/request_validator.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace agentcore::test {

// What a client of that provider writes into its bodies.
struct ProviderForm {
  Dialect dialect;
  std::string server;
  detail::llm::BodyDefaults defaults;
};

inline ProviderForm form_of(HttpLlmOptions options) {
  options.model = "m";
  return {options.dialect, detail::llm::server_of(options.base_url), detail::llm::body_defaults(options)};
}
inline ProviderForm form_of(std::string_view provider) {
  return form_of(provider_options(provider).value());
}

// The body that a client of that provider sends for the request.
inline std::string body_for(const ProviderForm& form, ChatRequest request) {
  const ReasoningRule rule = form.defaults.reasoning.value_or(detail::llm::rule_of(form.dialect));
  detail::llm::last_check(request, form.dialect, form.defaults);
  const detail::llm::Binding binding = detail::llm::binding_of(request, rule, "key");
  detail::llm::keep_own_reasoning(request, form.dialect, rule, form.server, binding);
  return detail::llm::wire_format(form.dialect).body(request, form.defaults);
}
inline std::string body_for(std::string_view provider, ChatRequest request) {
  return body_for(form_of(provider), std::move(request));
}

// The first reason for which the provider would refuse that body; "" if it would take it.
inline std::string refusal_of(std::string_view provider, std::string_view body, std::string_view path = {}) {
  const std::vector<std::string> problems = testing::validate_request(provider, body, path);
  return problems.empty() ? "" : std::string(provider) + " refuses " + problems.front();
}

}  // namespace agentcore::test
