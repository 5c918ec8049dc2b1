#include "core/validate.hpp"

#include <stdexcept>

#include <fmt/format.h>

namespace agentcore::detail::core {
namespace {

// In the largest unit of which the value is a whole multiple.
std::string to_text(Duration value) {
  constexpr Duration::rep millisecond = 1'000'000;
  const Duration::rep count = value.count();
  if (count % (1000 * millisecond) == 0) return fmt::format("{} s", count / (1000 * millisecond));
  if (count % millisecond == 0) return fmt::format("{} ms", count / millisecond);
  return fmt::format("{} ns", count);
}

std::string joined(std::string_view prefix, std::string_view field) {
  return std::string(prefix).append(field);
}

}  // namespace

template <typename Describe>
Validation& Validation::check(bool good, std::string_view field, Describe&& describe) {
  if (!good && !problem_)
    problem_ = Error{Errc::invalid_config, fmt::format("{}::{} {}", owner_, field, describe())};
  return *this;
}

Validation& Validation::not_negative(std::string_view field, Duration value) {
  return check(value >= Duration::zero(), field,
               [&] { return fmt::format("is {}; it must not be negative", to_text(value)); });
}

Validation& Validation::positive(std::string_view field, Duration value) {
  return check(value > Duration::zero(), field,
               [&] { return fmt::format("is {}; it must be greater than 0", to_text(value)); });
}

Validation& Validation::count(std::string_view field, std::uint64_t value, std::uint64_t least,
                              std::uint64_t most) {
  return check(value >= least && value <= most, field, [&] {
    if (most == std::numeric_limits<std::uint64_t>::max())
      return fmt::format("is {}; it must be at least {}", value, least);
    return fmt::format("is {}; it must be {} to {}", value, least, most);
  });
}

Validation& Validation::number(std::string_view field, double value, double least, double most) {
  return check(value >= least && value <= most, field,  // false for what is not a number
               [&] { return fmt::format("is {}; it must be {:g} to {:g}", value, least, most); });
}

// Usually all fields are valid: then no field name is built, which would allocate.
Validation& Validation::budget(std::string_view prefix, const Budget& budget) {
  const double cost = budget.cost == no_limit ? 0 : budget.cost;
  if (is_amount(cost) && budget.wall_clock >= Duration::zero()) return *this;
  return amount(joined(prefix, "cost"), cost).not_negative(joined(prefix, "wall_clock"), budget.wall_clock);
}

Validation& Validation::prices(std::string_view prefix, const Prices& prices) {
  const double cached = prices.cached_prompt.value_or(0);
  const double write = prices.cache_write.value_or(0);
  if (is_amount(prices.prompt) && is_amount(prices.completion) && is_amount(cached) && is_amount(write))
    return *this;
  return amount(joined(prefix, "prompt"), prices.prompt)
      .amount(joined(prefix, "completion"), prices.completion)
      .amount(joined(prefix, "cached_prompt"), cached)
      .amount(joined(prefix, "cache_write"), write);
}

void Validation::raise() const {
  if (problem_) throw std::invalid_argument(problem_->message);
}

void require_function(bool is_set, std::string_view name) {
  if (!is_set) throw std::invalid_argument(fmt::format("{} is empty; pass a function to call", name));
}

bool is_amount(double value) noexcept {
  return value >= 0 && value <= max_amount;
}

}  // namespace agentcore::detail::core
