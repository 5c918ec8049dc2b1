#include "llm/dialects/wire_format.hpp"

#include "core/enum_names.hpp"

namespace agentcore {

namespace {

constexpr detail::core::EnumNames dialect_names{
    std::to_array<detail::core::EnumName<Dialect>>({{Dialect::openai_chat, "openai_chat"},
                                                    {Dialect::openai_responses, "openai_responses"},
                                                    {Dialect::anthropic_messages, "anthropic_messages"}})};
static_assert(dialect_names.is_in_order());

constexpr detail::core::EnumNames join_names{
    std::to_array<detail::core::EnumName<JoinUserMessages>>({{JoinUserMessages::never, "never"},
                                                             {JoinUserMessages::unsent, "unsent"},
                                                             {JoinUserMessages::always, "always"}})};
static_assert(join_names.is_in_order());

}  // namespace

std::string_view to_string(Dialect dialect) noexcept {
  return dialect_names.name(dialect);
}

std::string_view to_string(JoinUserMessages join) noexcept {
  return join_names.name(join);
}

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
