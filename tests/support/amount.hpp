// How much of a long test runs. A test that repeats one scenario (at each suspension point, for each
// allocation, in many rounds of a race) has a whole amount, and a sample for `scripts/test --quick` and for
// the lanes of `scripts/test`, unless these run alone.
#pragma once

#include <cstdlib>

namespace agentcore::test {

// True if AGENTCORE_TEST_SAMPLES is not empty in the environment. The test preset `quick` sets it.
inline bool runs_samples() {
  static const char* const value = std::getenv("AGENTCORE_TEST_SAMPLES");
  return value && *value != '\0';
}

// The amount of a long test: `whole`, or `sample` if samples run. For rounds the sample is smaller, for steps
// larger.
template <typename T>
T amount(T whole, T sample) {
  return runs_samples() ? sample : whole;
}

}  // namespace agentcore::test
