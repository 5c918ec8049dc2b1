// What the numbers of a command choose from.
#pragma once

#include "support/observe/host_code.hpp"

#include <agentcore/agentcore.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace agentcore::sim {

constexpr const char* reason_of_host = "SECRET reason";  // so short that it needs no heap

template <typename T, std::size_t size>
T one_of(const std::array<T, size>& choices, std::uint32_t n) {
  return choices[n % size];
}

// The further options of a number: small numbers have none. A multiple of most counts of choices, so that
// other choices stay as they are.
constexpr std::uint32_t options_begin = 1'680, option_choices = 38;
constexpr std::uint32_t options_in(std::uint32_t n) {
  return n / options_begin;
}

// Of the host: it does not fail.
inline AgentSpec copy_of(const AgentSpec& spec) {
  const test::HostCode host;
  return spec;
}

inline Duration duration(std::uint32_t n) {
  return one_of(std::array<Duration, 7>{std::chrono::milliseconds(1), std::chrono::seconds(1),
                                        std::chrono::seconds(6), std::chrono::minutes(2),
                                        std::chrono::minutes(11), std::chrono::hours(2), Duration(0)},
                n);
}

}  // namespace agentcore::sim
