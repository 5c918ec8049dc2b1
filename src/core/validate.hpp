// Checks of the host's input: numbers are in range, functions are not empty. All options use the same
// wording.
#pragma once

#include "core/internal_api.hpp"

#include <agentcore/budget.hpp>
#include <agentcore/clock.hpp>
#include <agentcore/error.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::detail::core {

// The largest price and the largest cost of a budget, so that no sum of costs comes near infinity.
inline constexpr double max_amount = 1e15;

inline constexpr std::size_t max_cache_key = 64;  // bytes; the limit of OpenAI

// Checks the fields of one options struct and keeps the first that is out of range, as an `invalid_config`
// with the field, its value and the allowed range.
class AGENTCORE_INTERNAL_API Validation {
 public:
  explicit Validation(std::string_view owner) : owner_(owner) {}

  Validation& not_negative(std::string_view field, Duration value);
  Validation& positive(std::string_view field, Duration value);
  Validation& count(std::string_view field, std::uint64_t value, std::uint64_t least,
                    std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
  Validation& number(std::string_view field, double value, double least, double most);
  Validation& amount(std::string_view field, double value) { return number(field, value, 0, max_amount); }
  // `prefix` comes before the name of each field of the struct.
  Validation& budget(std::string_view prefix, const Budget& budget);
  Validation& prices(std::string_view prefix, const Prices& prices);

  const std::optional<Error>& problem() const noexcept { return problem_; }
  // Throws std::invalid_argument if there is a problem.
  void raise() const;

 private:
  template <typename Describe>
  Validation& check(bool good, std::string_view field, Describe&& describe);

  std::string_view owner_;
  std::optional<Error> problem_;
};

// Throws std::invalid_argument with `name` in its message unless `is_set`.
AGENTCORE_INTERNAL_API void require_function(bool is_set, std::string_view name);

// True for a valid cost: a number from 0 to max_amount. For costs from a client or a server.
bool is_amount(double value) noexcept;

// The sum, or the largest std::uint64_t where the sum would overflow.
constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

}  // namespace agentcore::detail::core
