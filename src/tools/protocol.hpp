// Protocol: how tools are offered to a model, and how its calls and their results are written.
#pragma once

#include "tools/registry.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::detail::tools {

// One call in an answer. Its id may be missing, or a duplicate: then the conversation assigns one.
struct AskedCall {
  ToolCall call;
  std::string action_id;  // of the window call.window_id, or of an ordinary tool
};

// The call with the window and the action that its name stands for in the native protocol.
AskedCall resolve(const ToolRegistry::Impl& registry, const ToolCall& call);

struct ReadAnswer {
  std::string words;             // the answer without its calls; with a parse_error, all of it
  std::vector<AskedCall> calls;  // none: the turn ends with the text
  std::string parse_error;       // a text that looks like calls, but is invalid (X30)
};

// The native function calls of the provider, or blocks in the text. The history is the same for both. Pure.
class Protocol {
 public:
  using Shown = std::function<bool(std::uint64_t window_number)>;
  virtual ~Protocol() = default;

  // Puts tools and windows into a request whose first message, if it is a system message, is the system
  // prompt, and rewrites the history in the form for the model. Adjusts ChatRequest::sent_before. What
  // changes with the windows is written at `place`.
  virtual void write(const ToolRegistry::Impl& registry, const Shown& shown, VolatilePlace place,
                     ChatRequest& request) const = 0;
  virtual ReadAnswer read(const ToolRegistry::Impl& registry, std::string_view text,
                          const std::vector<ToolCall>& calls) const = 0;
};

const Protocol& protocol_of(ToolProtocol kind) noexcept;

// A result in the form for the model (X31).
std::string text_of(const ToolResult& result);
// The message of a result in that form. With data, they are a part of it.
std::string message_of(std::string text, bool success);

}  // namespace agentcore::detail::tools
