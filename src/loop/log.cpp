#include "core/enum_names.hpp"

#include <agentcore/log.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames log_level_names{
    std::to_array<detail::core::EnumName<LogLevel>>({{LogLevel::debug, "debug"},
                                                     {LogLevel::info, "info"},
                                                     {LogLevel::warning, "warning"},
                                                     {LogLevel::error, "error"}})};
static_assert(log_level_names.is_in_order());

}  // namespace

std::string_view to_string(LogLevel level) noexcept {
  return log_level_names.name(level);
}

}  // namespace agentcore
