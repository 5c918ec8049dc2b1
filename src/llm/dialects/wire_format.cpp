#include "llm/dialects/wire_format.hpp"

#include "core/enum_names.hpp"

namespace agentcore {

AGENTCORE_NAMES(Dialect, openai_chat, openai_responses, anthropic_messages)
AGENTCORE_NAMES(JoinUserMessages, never, unsent, always)

namespace detail::llm {

std::span<const std::string_view> WireFormat::echoed_members() const noexcept {
  static constexpr std::string_view of_responses[] = {"instructions", "tools", "prompt", "metadata"};
  return dialect() == Dialect::openai_responses ? std::span(of_responses)
                                                : std::span<const std::string_view>();
}

const WireFormat& wire_format(Dialect dialect) noexcept {
  switch (dialect) {
    case Dialect::openai_responses:
      return openai_responses();
    case Dialect::anthropic_messages:
      return anthropic_messages();
    default:
      return openai_chat();
  }
}

}  // namespace detail::llm
}  // namespace agentcore
