// Providers: who serves models, and how each wants to be talked to, as data.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/http_llm_client.hpp>

#include <span>
#include <string>
#include <string_view>

namespace agentcore {

struct Provider {
  std::string_view name = {};         // "openrouter"
  std::string_view base_url = {};     // empty: it has none of its own, so yours must be set
  std::string_view api_key_env = {};  // where its key usually is; empty: it needs none
  Dialect dialect = Dialect::openai_chat;
  std::string_view auth_header = "Authorization";
  std::string_view auth_prefix = "Bearer ";
  std::string_view max_tokens_field = "max_tokens";
  std::uint32_t max_tokens = 0;           // where it wants a limit in every request
  std::uint32_t tool_call_id_length = 0;  // as it wants them exactly
  bool join_user_messages = true;         // HttpLlmOptions::join_user_messages
  std::string_view extra_body = {};  // HttpLlmOptions::extra_body; what you add belongs into the same object
  std::string_view headers = {};     // sent with every request, one "Name: value" per line
  std::string_view app_url_header = {};  // for AppIdentity, where it wants to know
  std::string_view app_name_header = {};
};

// Who calls, for providers that list or rank applications.
struct AppIdentity {
  std::string url = {};
  std::string name = {};
};

// All that are known, by name. @threadsafe
std::span<const Provider> providers() noexcept;

// Options for the provider of that name, ready to call but for the model; its key is read from its
// environment variable. `invalid_config` for a name that is not known: its message lists those that are.
// @threadsafe
Result<HttpLlmOptions> provider_options(std::string_view name, const AppIdentity& app = {});

}  // namespace agentcore
