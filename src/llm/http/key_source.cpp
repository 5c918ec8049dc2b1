#include "llm/http/key_source.hpp"

#include "core/wipe.hpp"
#include "llm/http/config.hpp"
#include "loop/engine.hpp"

#include <cstdlib>
#include <utility>

namespace agentcore::detail::llm {
namespace {

Secret fixed_key(HttpLlmOptions& options) {
  if (options.api_key_env.empty()) return Secret(std::move(options.api_key));
  core::wipe(options.api_key);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): once, when the client is made
  const char* const key = std::getenv(options.api_key_env.c_str());
  return key != nullptr ? Secret(key) : Secret();
}

}  // namespace

KeySource::KeySource(HttpLlmOptions& options, const Redactor& redact)
    : header_(options.auth_header),
      prefix_(options.auth_prefix),
      ask_(std::move(options.api_key_source)),
      redact_(redact) {
  const Secret key = fixed_key(options);
  redact_.hide(key.view(), "api key");
  if (!key.empty()) line_ = line_of(key.view());
}

Result<CallKey> KeySource::key_of_call(loop::Engine& engine) {
  if (!ask_) return CallKey{Secret(line_.view()), nullptr};
  Secret key;
  bool answered = false;
  // The exception is not even logged: its text may hold the key.
  engine.guarded("api_key_source", [&] {
    try {
      key = Secret(ask_());
      answered = true;
    } catch (...) {
    }
  });
  if (!answered)
    return Error{Errc::callback_failed,
                 "HttpLlmOptions::api_key_source threw an exception, which is not logged because it may "
                 "contain the key"};
  if (key.empty()) return Error{Errc::invalid_config, "HttpLlmOptions::api_key_source returned an empty key"};
  if (!is_sendable(key.view()))
    return Error{Errc::invalid_config,
                 "HttpLlmOptions::api_key_source returned a key with a line break or another control "
                 "character; trim it"};
  return CallKey{line_of(key.view()), redact_.hide_while(key.view(), "api key")};
}

Secret KeySource::line_of(std::string_view key) const {
  std::string line;
  line.reserve(header_.size() + 2 + prefix_.size() + key.size());  // growing would leave copies behind
  line.append(header_).append(": ").append(prefix_).append(key);
  return Secret(std::move(line));
}

}  // namespace agentcore::detail::llm
