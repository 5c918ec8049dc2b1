// The names of the options of a restore.
#include "core/enum_names.hpp"

#include <agentcore/restore.hpp>
#include <agentcore/store_events.hpp>

namespace agentcore {
namespace {

constexpr detail::core::EnumNames durability_names{
    std::to_array<detail::core::EnumName<Durability>>({{Durability::each_turn, "each_turn"},
                                                       {Durability::each_step, "each_step"},
                                                       {Durability::each_message, "each_message"}})};
static_assert(durability_names.is_in_order());

constexpr detail::core::EnumNames after_store_failure_names{
    std::to_array<detail::core::EnumName<AfterStoreFailure>>({{AfterStoreFailure::retry, "retry"},
                                                              {AfterStoreFailure::go_on, "go_on"},
                                                              {AfterStoreFailure::stop_all, "stop_all"}})};
static_assert(after_store_failure_names.is_in_order());

constexpr detail::core::EnumNames interrupted_turns_names{
    std::to_array<detail::core::EnumName<InterruptedTurns>>(
        {{InterruptedTurns::end, "end"}, {InterruptedTurns::go_on, "go_on"}})};
static_assert(interrupted_turns_names.is_in_order());

constexpr detail::core::EnumNames restored_turn_names{
    std::to_array<detail::core::EnumName<RestoredTurn>>({{RestoredTurn::none, "none"},
                                                         {RestoredTurn::interrupted, "interrupted"},
                                                         {RestoredTurn::continues, "continues"}})};
static_assert(restored_turn_names.is_in_order());

}  // namespace

std::string_view to_string(InterruptedTurns turns) noexcept {
  return interrupted_turns_names.name(turns);
}
std::string_view to_string(RestoredTurn turn) noexcept {
  return restored_turn_names.name(turn);
}
std::string_view to_string(Durability durability) noexcept {
  return durability_names.name(durability);
}
std::string_view to_string(AfterStoreFailure after) noexcept {
  return after_store_failure_names.name(after);
}

}  // namespace agentcore
