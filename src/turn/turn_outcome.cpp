// The names of the outcomes of a turn.
#include "core/enum_names.hpp"

#include <agentcore/event.hpp>

namespace agentcore {

namespace {

constexpr detail::core::EnumNames turn_outcome_names{
    std::to_array<detail::core::EnumName<TurnOutcome>>({{TurnOutcome::completed, "completed"},
                                                        {TurnOutcome::aborted, "aborted"},
                                                        {TurnOutcome::stopped, "stopped"},
                                                        {TurnOutcome::failed, "failed"},
                                                        {TurnOutcome::interrupted, "interrupted"}})};
static_assert(turn_outcome_names.is_in_order());

}  // namespace

std::string_view to_string(TurnOutcome outcome) noexcept {
  return turn_outcome_names.name(outcome);
}

}  // namespace agentcore
