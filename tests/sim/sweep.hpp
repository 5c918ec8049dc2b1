// Sweeps: a script with each of its faults in turn, and with pairs of them.
#pragma once

#include "sim/command.hpp"
#include "sim/faults.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace agentcore::sim {

struct Sweep {
  std::size_t runs = 0;
  FaultCounts counts{};  // calls that could fail, of each kind
  // Of the first run that went wrong.
  Faults faults;
  std::string problem;  // empty: none did
};

// Runs the script once for each `step`-th call that can fail, with that call failing.
Sweep sweep_each(const Script& script, std::size_t step);
// Runs it `runs` times with two calls failing, of any kinds.
Sweep sweep_pairs(const Script& script, std::size_t runs, std::uint64_t seed);

// "allocation:17", "allocation:17:3" (and the third after that); those of several kinds with a ',' between.
std::string to_string(const Faults& faults);
std::optional<Faults> faults_from(std::string_view text);

}  // namespace agentcore::sim
