#include "persist/turn_record.hpp"

#include <cstddef>

namespace agentcore::detail::persist {
namespace {

using turn::StoredCall;

// A number has the state in its lowest three bits, then the outcome, then a bit for each of these that has
// not its usual value.
constexpr unsigned outcome_shift = 3, flags_shift = 6;
constexpr bool StoredCall::*flags[] = {
    &StoredCall::success,   &StoredCall::by_host,      &StoredCall::ends_turn,   &StoredCall::readable,
    &StoredCall::may_begin, &StoredCall::begun_before, &StoredCall::no_arguments};

std::uint32_t number_of(const StoredCall& call) noexcept {
  static constexpr StoredCall usual;
  auto number = static_cast<std::uint32_t>(call.state) | static_cast<std::uint32_t>(call.outcome)
                                                             << outcome_shift;
  for (std::size_t i = 0; i < std::size(flags); ++i)
    if (call.*flags[i] != usual.*flags[i]) number |= 1U << (flags_shift + i);
  return number;
}

StoredCall call_of(std::uint32_t number) {
  const auto state = number & 7U, outcome = number >> outcome_shift & 7U;
  if (state > static_cast<unsigned>(turn::Call::State::done) ||
      outcome > static_cast<unsigned>(ToolOutcome::abandoned) || number >> (flags_shift + std::size(flags)))
    refuse_field("calls", "has an unknown value");
  StoredCall call{.state = static_cast<turn::Call::State>(state),
                  .outcome = static_cast<ToolOutcome>(outcome)};
  for (std::size_t i = 0; i < std::size(flags); ++i)
    if (number >> (flags_shift + i) & 1U) call.*flags[i] = !(call.*flags[i]);
  return call;
}

}  // namespace

std::vector<std::uint32_t> numbers_of(const std::vector<StoredCall>& calls) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(calls.size());
  for (const StoredCall& call : calls) numbers.push_back(number_of(call));
  return numbers;
}

std::vector<StoredCall> calls_of(const std::vector<std::uint32_t>& numbers) {
  std::vector<StoredCall> calls;
  calls.reserve(numbers.size());
  for (const std::uint32_t number : numbers) calls.push_back(call_of(number));
  return calls;
}

std::string to_json(const turn::StoredTurn& turn) {
  return FieldWriter::json_of(turn);
}

turn::StoredTurn read_turn(const json& object) {
  turn::StoredTurn turn;
  FieldReader io(object);
  fields(io, turn);
  return turn;
}

}  // namespace agentcore::detail::persist
