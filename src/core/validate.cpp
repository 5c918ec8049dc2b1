#include "core/validate.hpp"

#include <charconv>
#include <initializer_list>
#include <stdexcept>

namespace agentcore::detail::core {
namespace {

// In the largest unit of which the value is a whole multiple.
std::string to_text(Duration value) {
  constexpr Duration::rep millisecond = 1'000'000;
  const Duration::rep count = value.count();
  if (count % (1000 * millisecond) == 0) return std::to_string(count / (1000 * millisecond)) + " s";
  if (count % millisecond == 0) return std::to_string(count / millisecond) + " ms";
  return std::to_string(count) + " ns";
}

// The shortest text that is that number alone, whatever the locale is: "2.5", "1e+15", "2.0000001".
std::string to_text(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string to_text(std::uint64_t value) {
  return std::to_string(value);
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

template <typename T>
std::string not_in_range(T value, T least, T most) {
  return joined({"is ", to_text(value), "; it must be ", to_text(least), " to ", to_text(most)});
}

}  // namespace

template <typename Describe>
Validation& Validation::check(bool good, std::string_view field, Describe&& describe) {
  if (!good && !problem_)
    problem_ = Error{Errc::invalid_config, joined({owner_, "::", field, " ", describe()})};
  return *this;
}

Validation& Validation::not_negative(std::string_view field, Duration value) {
  return check(value >= Duration::zero(), field, [&] {
    return joined({"is ", to_text(value), "; it must not be negative"});
  });
}

Validation& Validation::positive(std::string_view field, Duration value) {
  return check(value > Duration::zero(), field, [&] {
    return joined({"is ", to_text(value), "; it must be greater than 0"});
  });
}

Validation& Validation::count(std::string_view field, std::uint64_t value, std::uint64_t least,
                              std::uint64_t most) {
  return check(value >= least && value <= most, field, [&] {
    if (most == std::numeric_limits<std::uint64_t>::max())
      return joined({"is ", to_text(value), "; it must be at least ", to_text(least)});
    return not_in_range(value, least, most);
  });
}

Validation& Validation::number(std::string_view field, double value, double least, double most) {
  return check(value >= least && value <= most, field,  // false for what is not a number
               [&] { return not_in_range(value, least, most); });
}

// Usually all fields are valid: then no field name is built, which would allocate.
Validation& Validation::budget(std::string_view prefix, const Budget& budget) {
  const double cost = budget.cost == no_limit ? 0 : budget.cost;
  if (is_amount(cost) && budget.wall_clock >= Duration::zero()) return *this;
  return amount(joined({prefix, "cost"}), cost)
      .not_negative(joined({prefix, "wall_clock"}), budget.wall_clock);
}

Validation& Validation::prices(std::string_view prefix, const Prices& prices) {
  const double cached = prices.cached_prompt.value_or(0);
  const double write = prices.cache_write.value_or(0);
  if (is_amount(prices.prompt) && is_amount(prices.completion) && is_amount(cached) && is_amount(write))
    return *this;
  return amount(joined({prefix, "prompt"}), prices.prompt)
      .amount(joined({prefix, "completion"}), prices.completion)
      .amount(joined({prefix, "cached_prompt"}), cached)
      .amount(joined({prefix, "cache_write"}), write);
}

void Validation::raise() const {
  if (problem_) throw std::invalid_argument(problem_->message);
}

void require_function(bool is_set, std::string_view name) {
  if (!is_set) throw std::invalid_argument(joined({name, " is empty; pass a function to call"}));
}

bool is_amount(double value) noexcept {
  return value >= 0 && value <= max_amount;
}

}  // namespace agentcore::detail::core
