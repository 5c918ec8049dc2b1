// NativeProtocol: the provider's own function calls.
#pragma once

#include "tools/protocol.hpp"

namespace agentcore::detail::tools {

class NativeProtocol final : public Protocol {
 public:
  void write(const ToolRegistry::Impl& registry, const Shown& shown, VolatilePlace place,
             ChatRequest& request) const override;
  ReadAnswer read(const ToolRegistry::Impl& registry, std::string_view text,
                  const std::vector<ToolCall>& calls) const override;
};

}  // namespace agentcore::detail::tools
