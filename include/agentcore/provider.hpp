// Provider: the known providers of models, and ready-made options for them.
#pragma once

#include <agentcore/error.hpp>
#include <agentcore/export.hpp>
#include <agentcore/http_llm_client.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace agentcore {

/// What a provider requires of its requests. In the result of providers() the views refer to constants.
struct Provider {
  std::string_view name = {};                        ///< E.g. "openrouter".
  std::string_view base_url = {};                    ///< Empty: the caller must set the URL of the server.
  std::string_view api_key_env = {};                 ///< The usual variable of its key. Empty: needs no key.
  Dialect dialect = Dialect::openai_chat;            ///< HttpLlmOptions::dialect
  std::string_view auth_header = "Authorization";    ///< HttpLlmOptions::auth_header
  std::string_view auth_prefix = "Bearer ";          ///< HttpLlmOptions::auth_prefix
  std::string_view max_tokens_field = "max_tokens";  ///< HttpLlmOptions::max_tokens_field
  std::optional<std::uint32_t> max_tokens = {};      ///< HttpLlmOptions::max_tokens
  std::optional<std::uint32_t> tool_call_id_length = {};  ///< HttpLlmOptions::tool_call_id_length
  /// HttpLlmOptions::join_user_messages
  JoinUserMessages join_user_messages = JoinUserMessages::unsent;
  bool bridge_tool_results = false;             ///< HttpLlmOptions::bridge_tool_results
  bool sends_cache_key = false;                 ///< HttpLlmOptions::sends_cache_key
  bool tool_names_begin_with_letter = false;    ///< HttpLlmOptions::tool_names_begin_with_letter
  std::uint32_t shortest_tool_name = 1;         ///< HttpLlmOptions::shortest_tool_name
  bool sends_empty_schemas = true;              ///< HttpLlmOptions::sends_empty_schemas
  bool takes_images = true;                     ///< HttpLlmOptions::takes_images
  std::optional<ReasoningRule> reasoning = {};  ///< HttpLlmOptions::reasoning
  bool takes_unsigned_reasoning = false;        ///< HttpLlmOptions::takes_unsigned_reasoning
  /// HttpLlmOptions::extra_body. Add fields of your own to the same JSON object.
  std::string_view extra_body = {};
  std::string_view headers = {};          ///< Sent with every request: one "Name: value" per line.
  std::string_view app_url_header = {};   ///< The header for AppIdentity::url. Empty: not sent.
  std::string_view app_name_header = {};  ///< The header for AppIdentity::name. Empty: not sent.
};

/// The calling application, for providers that list or rank applications. Control characters are sent as
/// spaces; an empty field is not sent.
struct AppIdentity {
  std::string url = {};   ///< The URL of the application.
  std::string name = {};  ///< The name of the application.
};

/// Returns all known providers, sorted by name.
///
/// @threadsafe
AGENTCORE_API std::span<const Provider> providers() noexcept;

/// Returns the options for the provider of that name, complete except for the model (and the base_url, if the
/// provider has none). The client reads the key from the provider's environment variable. To use another key,
/// clear api_key_env and set api_key. Error: Errc::invalid_config for an unknown name; the message lists the
/// known names.
///
///     agentcore::HttpLlmOptions options = agentcore::provider_options("openrouter").value();
///     options.model = "openai/gpt-4o-mini";
///     agentcore::HttpLlmClient llm{runtime, options};
///
/// @threadsafe
AGENTCORE_API Result<HttpLlmOptions> provider_options(std::string_view name, const AppIdentity& app = {});

}  // namespace agentcore
