// Protocol: how a model is told of its tools, asks for them, and reads their results.
#pragma once

#include "tools/registry.hpp"

#include <agentcore/agent_spec.hpp>
#include <agentcore/chat.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace agentcore::tools {

// One call, as an answer asks for it. Its id may be missing, or taken: the conversation gives it one.
struct AskedCall {
  ToolCall call;
  std::string action_id;  // of the window call.window_id, or of an ordinary tool
};

// The call with the window and the action that its name means in the native protocol.
AskedCall resolve(const ToolRegistry::Impl& registry, const ToolCall& call);

struct ReadAnswer {
  std::string words;             // the answer without its calls; with a parse_error, all of it
  std::vector<AskedCall> calls;  // none: the turn ends with the words
  std::string parse_error;       // what looked like calls and is none (X30)
};

// The native function calls of the provider, or blocks in the text. The history is the same for both. Pure.
class Protocol {
 public:
  using Shown = std::function<bool(std::uint64_t window_number)>;
  virtual ~Protocol() = default;

  // Puts tools and windows into a request whose first message, if it is a system message, is the system
  // prompt, and writes the history behind it as the model reads it.
  virtual void write(const ToolRegistry::Impl& registry, const Shown& shown, ChatRequest& request) const = 0;
  virtual ReadAnswer read(const ToolRegistry::Impl& registry, std::string_view text,
                          const std::vector<ToolCall>& calls) const = 0;
};

const Protocol& protocol_of(ToolProtocol kind) noexcept;

// A result as the model reads it (X31).
std::string text_of(const ToolResult& result);

}  // namespace agentcore::tools
