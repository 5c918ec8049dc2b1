// Runs of scripts: what came out, whether it can be repeated, and the smallest script that fails alike.
#pragma once

#include "sim/command.hpp"
#include "sim/world.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace agentcore::sim {

struct Outcome {
  std::string problem;  // empty: nothing was wrong
  std::uint64_t hash = 0;
  std::vector<std::string> trace;  // if it was wanted
  Counts counts;
  FaultCounts fault_counts{};
};

Outcome run(const Script& script, bool with_trace = false, const Faults& faults = {});

// A smaller script for which fails() is true as for `script`, as small as can be found with `most` calls.
Script smallest(const Script& script, const std::function<bool(const Script&)>& fails, std::size_t most);
// A script that fails with a problem of the same rule.
Script shrunk(const Script& script, const std::string& problem);

// The script as a C++ raw string in a test that can be pasted into tests/sim.
std::string as_test(const Script& script, const std::string& problem);

}  // namespace agentcore::sim
