// no_limit: the one spelling of "unlimited" in options.
#pragma once

#include <agentcore/clock.hpp>

#include <concepts>
#include <limits>

namespace agentcore {

namespace detail {

template <typename T>
concept LimitType = (std::unsigned_integral<T> && !std::same_as<T, bool>) || std::same_as<T, double> ||
                    std::same_as<T, Duration> || std::same_as<T, TimePoint>;

}  // namespace detail

/// The type of agentcore::no_limit. It converts to the largest value of each type of limit (unsigned
/// integers, double, Duration and TimePoint; for double: infinity), and compares equal to that value.
struct NoLimit {
  /// Returns the value that stands for "no limit".
  template <detail::LimitType T>
  constexpr operator T() const noexcept {  // NOLINT(google-explicit-constructor): is assigned to limits
    if constexpr (std::same_as<T, Duration> || std::same_as<T, TimePoint>)
      return T::max();
    else if constexpr (std::same_as<T, double>)
      return std::numeric_limits<double>::infinity();
    else
      return std::numeric_limits<T>::max();
  }

  /// True if `value` stands for "no limit".
  template <detail::LimitType T>
  friend constexpr bool operator==(const T& value, NoLimit none) noexcept {
    return value == static_cast<T>(none);
  }
};

/// Means "unlimited" in every option that is a limit, where 0 means zero. An option that is not set is an
/// empty std::optional instead.
///
///     agentcore::Budget budget{.tokens = 200'000};    // the other fields are no_limit
///     agentcore::TreeOptions options{.tool_timeout = agentcore::no_limit};
///     if (budget.cost == agentcore::no_limit) budget.cost = 1.50;
inline constexpr NoLimit no_limit{};

}  // namespace agentcore
