// KeySource: where a client's key comes from, and how it is sent.
#pragma once

#include "llm/http/redactor.hpp"
#include "llm/http/secret.hpp"

#include <agentcore/error.hpp>
#include <agentcore/http_llm_client.hpp>

#include <functional>
#include <memory>
#include <string>

namespace agentcore::loop {
class Engine;
}

namespace agentcore::llm {

// The key of one call.
struct CallKey {
  Secret header;                       // "Authorization: Bearer ..."; empty: no key is sent
  std::shared_ptr<const void> hidden;  // the Redactor knows it for as long as this is kept
};

// @loop_thread
class KeySource {
 public:
  // Takes the key out of the options, or out of the environment; `redact` knows it from then on.
  KeySource(HttpLlmOptions& options, const Redactor& redact);

  // Asks HttpLlmOptions::api_key_source if there is one, which may do anything: look whether the client still
  // exists afterwards.
  Result<CallKey> key_of_call(loop::Engine& engine);

 private:
  Secret line_of(std::string_view key) const;

  const std::string header_;
  const std::string prefix_;
  const std::function<std::string()> ask_;
  Redactor redact_;
  Secret line_;  // of a key that stays the same
};

}  // namespace agentcore::llm
