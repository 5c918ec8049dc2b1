// How much of a long test runs. A test that repeats one scenario (at each suspension point, for each
// allocation, in many rounds of a race) has a whole amount, which CI and all presets but `quick` run, and a
// sample for `scripts/test --quick`.
#pragma once

#include <cstdlib>

namespace agentcore::test {

// True if AGENTCORE_TEST_SAMPLES is set in the environment, as the test preset `quick` sets it.
inline bool runs_samples() {
  static const bool result = std::getenv("AGENTCORE_TEST_SAMPLES") != nullptr;
  return result;
}

// The amount of a long test: `whole`, or `sample` if samples run. For rounds the sample is smaller, for steps
// larger.
template <typename T>
T amount(T whole, T sample) {
  return runs_samples() ? sample : whole;
}

}  // namespace agentcore::test
