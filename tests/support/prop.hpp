// prop: a property checked by rapidcheck, reported by Catch2 2 or 3. (rapidcheck/catch.h wants Catch2 2.)
#pragma once

#include "support/amount.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"

#include <sstream>
#include <string>
#include <utility>

#include <rapidcheck.h>

// What a check of a property has found.
struct PropResult {
  bool passed = false;
  std::string report;  // the smallest counterexample, and the seed that reproduces it
};

// How many generated cases a property must pass, unless RC_PARAMS only reproduces a failure of it. A
// sanitizer makes each case five to ten times as slow; scripts/test runs fewer there if it runs samples.
inline int fewest_cases() {
#if defined(SANITIZED)
  return agentcore::test::amount(100, 25);
#else
  return 100;
#endif
}

// Checks `testable` (a callable whose parameters are generated, or that draws with `*rc::gen::...`) on 100
// generated cases, or as many as RC_PARAMS says, but at least `fewest`. `text` describes the property.
template <typename Testable>
PropResult check_prop(const std::string& text, Testable&& testable, int fewest = fewest_cases()) {
  rc::detail::TestMetadata metadata{text, text};
  const auto& configuration = rc::detail::configuration();
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata);
  std::ostringstream report;
  report << text << "\n";
  rc::detail::printResultMessage(result, report);
  report << "\nagain with RC_PARAMS=\"seed=" << configuration.testParams.seed << "\"";
  rc::detail::SuccessResult success;
  const bool passed =
      result.match(success) && (success.numSuccess >= fewest || configuration.reproduce.count(text) != 0);
  return {passed, report.str()};
}

// The same, and fails the running test if the property does not hold. Assert inside with RC_ASSERT: shrinking
// depends on it.
template <typename Testable>
void prop(const std::string& text, Testable&& testable) {
  const PropResult result = check_prop(text, std::forward<Testable>(testable));
  INFO(result.report);
  CHECK(result.passed);
}
