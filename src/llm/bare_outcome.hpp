// bare_outcome: the outcome of a call for which there is no memory.
#pragma once

#include <agentcore/chat.hpp>

namespace agentcore::detail::llm {

// `cancelled`, or a failure with that code. Needs no memory: its message is short, or missing.
inline ChatOutcome bare_outcome(Errc code) noexcept {
  ChatOutcome outcome;
  outcome.kind = code == Errc::cancelled ? ChatOutcome::Kind::cancelled : ChatOutcome::Kind::failed;
  outcome.usage.complete = false;
  outcome.error.code = code;
  if (code == Errc::out_of_memory) outcome.error.message = "out of memory";
  return outcome;
}

}  // namespace agentcore::detail::llm
