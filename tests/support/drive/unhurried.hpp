// One poll() does all that is ready, however slow the machine is: without it, a test that polls once and
// looks depends on the four milliseconds of RuntimeOptions::poll_budget.
#pragma once

#include <agentcore/runtime.hpp>

#include <chrono>
#include <utility>

namespace agentcore::test {

// A budget that the test has set stays.
inline RuntimeOptions unhurried(RuntimeOptions options = {}) {
  if (options.poll_budget == RuntimeOptions().poll_budget) options.poll_budget = std::chrono::hours(1);
  return options;
}

}  // namespace agentcore::test
