// KeySource: the key of a client, and the header line that contains it.
#pragma once

#include "llm/http/redactor.hpp"
#include "llm/http/secret.hpp"

#include <agentcore/error.hpp>
#include <agentcore/http_llm_client.hpp>

#include <functional>
#include <memory>
#include <string>

namespace agentcore::detail::loop {
class Engine;
}

namespace agentcore::detail::llm {

// The key of one call.
struct CallKey {
  Secret header;                       // "Authorization: Bearer ..."; empty: no key is sent
  std::shared_ptr<const void> hidden;  // the Redactor hides the key as long as this is kept
};

// @loop_thread
class KeySource {
 public:
  // Moves the key out of the options, or reads it from the environment; `redact` hides it from then on.
  KeySource(HttpLlmOptions& options, const Redactor& redact);

  // Calls HttpLlmOptions::api_key_source if there is one. That function may destroy the client: check
  // afterwards whether the client still exists.
  Result<CallKey> key_of_call(loop::Engine& engine);

 private:
  Secret line_of(std::string_view key) const;

  const std::string header_;
  const std::string prefix_;
  const std::function<std::string()> ask_;
  Redactor redact_;
  Secret line_;  // of a key that does not change
};

}  // namespace agentcore::detail::llm
